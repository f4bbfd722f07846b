//! The root certificates of Consul's certificate authority:
//! <https://developer.hashicorp.com/consul/api-docs/connect/ca#list-ca-root-certificates>.

use jiff::Timestamp;
use serde::Deserialize;

use crate::{
    error::ConsulError,
    http::HttpConsul,
    request::{Request, or_default},
};

/// A root certificate. A proxy trusts all that Consul lists.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct CaRoot {
    pub name: String,
    /// Whether it signs certificates now.
    #[serde(rename = "Active")]
    pub is_active: bool,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RootsAnswer {
    #[serde(deserialize_with = "or_default")]
    roots: Vec<CaRoot>,
}

impl HttpConsul {
    /// The root certificates. It takes no permission.
    pub async fn ca_roots(&self) -> Result<Vec<CaRoot>, ConsulError> {
        let request = Request::get("the roots of Consul's certificate authority", &["connect", "ca", "roots"]);
        let RootsAnswer { roots } = self.json(&request).await?;
        Ok(roots)
    }
}
