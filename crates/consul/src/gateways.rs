//! Gateways, and what leads to and through them: <https://developer.hashicorp.com/consul/docs/connect/gateways>

use std::collections::BTreeMap;

use mesh::tenancy::Tenancy;
use serde::Deserialize;

use crate::{
    error::{ConsulError, if_found},
    http::HttpConsul,
    proxies::ConnectProxy,
    request::{Request, or_default},
};

/// The service of Consul's servers. It is no gateway, so an answer that has it was not filtered.
const SERVERS: &str = "consul";
/// The kinds of the config entries with the routes of API gateways.
const ROUTES: [&str; 2] = ["http-route", "tcp-route"];

/// A service that a partition exports, with those who may call it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ExportedService {
    /// In the entry its name may be `*` for every service.
    #[serde(alias = "Name")]
    pub service: String,
    #[serde(default, deserialize_with = "or_default")]
    consumers: Consumers,
}

/// The API lists the names, and the config entry each consumer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum Consumers {
    Listed(ListedConsumers),
    Entries(Vec<ConsumerEntry>),
}

impl Default for Consumers {
    fn default() -> Self {
        Self::Entries(Vec::new())
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct ListedConsumers {
    #[serde(deserialize_with = "or_default")]
    partitions: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct ConsumerEntry {
    partition: String,
}

impl ExportedService {
    /// Whether a service is exported to a partition.
    pub fn is_export(&self, service: &str, partition: &str) -> bool {
        let is_it = |its: &String| its == "*" || its == partition;
        let is_to = match &self.consumers {
            Consumers::Listed(listed) => listed.partitions.iter().any(is_it),
            Consumers::Entries(entries) => entries.iter().any(|entry| is_it(&entry.partition)),
        };
        is_to && ["*", service].contains(&self.service.as_str())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ExportsEntry {
    #[serde(default, deserialize_with = "or_default")]
    services: Vec<ExportedService>,
}

/// A route of an API gateway.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GatewayRoute {
    pub kind: String,
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    parents: Vec<Named>,
    /// Of an HTTP route.
    #[serde(default, deserialize_with = "or_default")]
    rules: Vec<RouteRule>,
    /// Of a TCP route.
    #[serde(default, deserialize_with = "or_default")]
    services: Vec<Named>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Named {
    name: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct RouteRule {
    #[serde(deserialize_with = "or_default")]
    services: Vec<Named>,
}

impl GatewayRoute {
    /// Whether it belongs to a gateway.
    pub fn is_of(&self, gateway: &str) -> bool {
        self.parents.iter().any(|parent| parent.name == gateway)
    }

    /// The services that it leads to.
    pub fn services(&self) -> impl Iterator<Item = &str> {
        let of_rules = self.rules.iter().flat_map(|rule| &rule.services);
        of_rules.chain(&self.services).map(|service| service.name.as_str())
    }
}

impl HttpConsul {
    /// The mesh gateways of a datacenter and partition, with their checks: one request for their names, and one for each name. It
    /// takes `service:read` and `node:read`.
    pub async fn mesh_gateways(
        &self,
        tenancy: &Tenancy,
        datacenter: Option<&str>,
    ) -> Result<Vec<ConnectProxy>, ConsulError> {
        let within = |request: Request| match datacenter {
            Some(datacenter) => request.query("dc", datacenter).within(tenancy),
            None => request.within(tenancy),
        };
        let request = Request::list("the mesh gateways", &["catalog", "services"]);
        let request = within(request.query("filter", r#"ServiceKind == "mesh-gateway""#));
        let names: BTreeMap<String, Vec<String>> = self.json(&request).await?;
        if names.contains_key(SERVERS) {
            return Err(request.malformed("this release of Consul does not say which services are gateways"));
        }
        let mut gateways = Vec::new();
        for name in names.keys() {
            let request = Request::list(format!("the gateways {name}"), &["health", "service", name]);
            let found: Vec<ConnectProxy> = self.json(&within(request)).await?;
            gateways.extend(found);
        }
        Ok(gateways)
    }

    /// The services that the tenancy's partition exports: by the API, or by the config entry before 1.17.3. It takes `mesh:read`.
    pub async fn exported_services(&self, tenancy: &Tenancy) -> Result<Vec<ExportedService>, ConsulError> {
        let request = Request::list("the exported services", &["exported-services"]).in_partition_of(tenancy);
        if let Some(exported) = if_found(self.json(&request).await)? {
            return Ok(exported);
        }
        let [partition, _] = tenancy.place();
        let request = Request::get("the config entry exported-services", &["config", "exported-services", partition]);
        let entry: Option<ExportsEntry> = self.entry(&request.in_partition_of(tenancy)).await?;
        Ok(entry.map(|entry| entry.services).unwrap_or_default())
    }

    /// The routes of an API gateway: one request for each of their two kinds. A Consul before 1.15 has none. It takes `mesh:read`.
    pub async fn routes_of(&self, gateway: &str, tenancy: &Tenancy) -> Result<Vec<GatewayRoute>, ConsulError> {
        let mut routes = Vec::new();
        for kind in ROUTES {
            let request = Request::list(format!("the config entries {kind}"), &["config", kind]).within(tenancy);
            let found: Option<Vec<GatewayRoute>> = self.entry(&request).await?;
            routes.extend(found.into_iter().flatten().filter(|route| route.is_of(gateway)));
        }
        Ok(routes)
    }
}
