//! Peerings with other Consul clusters: <https://developer.hashicorp.com/consul/api-docs/peering>.

use mesh::tenancy::Tenancy;
use serde::Deserialize;

use crate::{
    error::{ConsulError, if_found},
    http::HttpConsul,
    request::{Request, or_default},
};

/// A peering with another cluster.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Peering {
    pub name: String,
    /// For example `ACTIVE`, `PENDING` or `FAILING`.
    pub state: String,
    #[serde(default, deserialize_with = "or_default")]
    stream_status: StreamStatus,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct StreamStatus {
    #[serde(deserialize_with = "or_default")]
    imported_services: Vec<String>,
}

impl Peering {
    pub fn is_active(&self) -> bool {
        self.state == "ACTIVE"
    }

    /// The names of the services that the peer exports to this cluster.
    pub fn imported_services(&self) -> &[String] {
        &self.stream_status.imported_services
    }
}

impl HttpConsul {
    /// A peering of the tenancy's partition; `None` if Consul has no such peering, as before 1.13. It takes `peering:read`.
    pub async fn peering(&self, name: &str, tenancy: &Tenancy) -> Result<Option<Peering>, ConsulError> {
        let request = Request::get(format!("peering {name}"), &["peering", name]).in_partition_of(tenancy);
        if_found(self.json(&request).await)
    }
}
