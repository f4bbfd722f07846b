//! The names in Consul's lists of partitions and namespaces (Enterprise):
//! <https://developer.hashicorp.com/consul/api-docs/admin-partitions>,
//! <https://developer.hashicorp.com/consul/api-docs/namespaces>.

use mesh::tenancy::TenancyName;
use serde::Deserialize;

use crate::{error::ConsulError, http::Http, request::Request};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Named {
    name: String,
    /// When its deletion started: Consul first deletes its content.
    deleted_at: Option<String>,
}

/// The names in the list that `request` reads, except of what is being deleted.
pub(crate) async fn remaining(http: &Http, request: &Request) -> Result<Vec<TenancyName>, ConsulError> {
    let listed: Vec<Named> = http.json(request).await?;
    let remaining = listed.iter().filter(|entry| entry.deleted_at.is_none());
    let malformed = |e| ConsulError::Malformed { subject: request.subject.clone(), reason: format!("{e}") };
    remaining.map(|entry| entry.name.parse().map_err(malformed)).collect()
}
