//! Admin partitions (Enterprise): <https://developer.hashicorp.com/consul/api-docs/admin-partitions>.

use serde::Deserialize;

use super::{error::ConsulError, http::Http, request::Request};
use mesh::tenancy::TenancyName;

const SUBJECT: &str = "the list of partitions";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Partition {
    name: String,
    /// When its deletion began: Consul deletes all that is in it, and then itself.
    deleted_at: Option<String>,
}

pub(super) async fn partitions(http: &Http) -> Result<Vec<TenancyName>, ConsulError> {
    let listed: Vec<Partition> = http.json(&Request::get(SUBJECT, &["partitions"])).await?;
    let staying = listed.iter().filter(|partition| partition.deleted_at.is_none());
    let parsed = staying.map(|partition| partition.name.parse());
    parsed
        .collect::<Result<_, _>>()
        .map_err(|e| ConsulError::Malformed { subject: SUBJECT.to_owned(), reason: format!("{e}") })
}
