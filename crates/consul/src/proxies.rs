//! The proxies of a service, as the proxies that call it find them:
//! <https://developer.hashicorp.com/consul/api-docs/health#list-service-instances-for-mesh-enabled-service>.

use std::collections::BTreeMap;

use mesh::{
    arn::TaskId,
    catalog::CheckStatus,
    consul_ecs::{OpaqueConfig, TASK_ID_META},
    tenancy::Tenancy,
};
use serde::Deserialize;

use crate::{
    discovery_chain::{ChainOverrides, GatewayMode},
    error::ConsulError,
    http::HttpConsul,
    request::{Request, or_default},
};

/// The proxy of an instance, or an instance without one that takes connections of the mesh itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "ProxyAnswer")]
pub struct ConnectProxy {
    pub id: String,
    /// The task that registered it; `None` outside of ECS.
    pub task: Option<TaskId>,
    /// Where other proxies connect to.
    pub address: String,
    pub port: u16,
    /// The names of its critical checks: with one, it gets no connection. The checks of its service do not count.
    pub critical_checks: Vec<String>,
    /// Whether the app's traffic is redirected to it.
    pub is_transparent: bool,
    /// Whether it is a gateway to a service outside of the mesh.
    pub is_terminating_gateway: bool,
    /// Where the app listens; 0 if it takes no requests.
    pub local_service_port: u16,
    /// The address of the app; empty for 127.0.0.1.
    pub local_service_address: String,
    /// The protocol of the app, if the proxy was registered with one. It replaces the protocol of the config entries.
    pub protocol: Option<String>,
    /// After how many milliseconds it ends a request, if it was registered with a time.
    pub local_request_timeout_ms: Option<i64>,
    /// Where proxies of other datacenters connect to, if it has another address for them.
    pub wan: Option<(String, u16)>,
    /// The services that it listens for.
    pub upstreams: Vec<RegisteredUpstream>,
}

/// A service that a registered proxy listens for. An empty name means the one of the proxy.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct RegisteredUpstream {
    pub destination_name: String,
    #[serde(default)]
    pub destination_type: String,
    #[serde(default)]
    pub destination_namespace: String,
    #[serde(default)]
    pub destination_partition: String,
    #[serde(default)]
    pub destination_peer: String,
    #[serde(default)]
    pub datacenter: String,
    #[serde(default)]
    pub local_bind_address: String,
    #[serde(default)]
    pub local_bind_port: u16,
    #[serde(default, deserialize_with = "or_default")]
    config: OpaqueConfig,
    #[serde(default, deserialize_with = "or_default")]
    mesh_gateway: GatewayMode,
}

impl RegisteredUpstream {
    /// What it has instead of the settings of the service.
    pub fn overrides(&self) -> ChainOverrides {
        ChainOverrides {
            protocol: self.config.0.get("protocol").and_then(|it| it.as_str()).map(str::to_owned),
            connect_timeout_ms: self.config.0.get("connect_timeout_ms").and_then(serde_json::Value::as_u64),
            mesh_gateway_mode: Some(self.mesh_gateway.mode.clone()).filter(|mode| !mode.is_empty()),
        }
    }

    /// Whether its destination is a service, not a prepared query.
    pub fn is_of_service(&self) -> bool {
        matches!(self.destination_type.as_str(), "" | "service")
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ProxyAnswer {
    node: NodePart,
    service: ServicePart,
    #[serde(default, deserialize_with = "or_default")]
    checks: Vec<CheckPart>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct NodePart {
    #[serde(default)]
    address: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ServicePart {
    #[serde(rename = "ID")]
    id: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    address: String,
    #[serde(default)]
    port: u16,
    #[serde(default, deserialize_with = "or_default")]
    tagged_addresses: BTreeMap<String, TaggedAddress>,
    #[serde(default, deserialize_with = "or_default")]
    meta: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "or_default")]
    proxy: ProxyPart,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TaggedAddress {
    address: String,
    port: u16,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct ProxyPart {
    mode: String,
    local_service_port: u16,
    local_service_address: String,
    #[serde(deserialize_with = "or_default")]
    config: OpaqueConfig,
    #[serde(deserialize_with = "or_default")]
    upstreams: Vec<RegisteredUpstream>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct CheckPart {
    name: String,
    status: String,
}

impl From<ProxyAnswer> for ConnectProxy {
    fn from(answer: ProxyAnswer) -> Self {
        let ProxyAnswer { node, service, checks } = answer;
        let config = &service.proxy.config.0;
        let is_critical = |check: &CheckPart| check.status == CheckStatus::Critical.as_str();
        Self {
            task: service.meta.get(TASK_ID_META).and_then(|id| id.parse().ok()),
            // Consul's default is the address of the node.
            address: if service.address.is_empty() { node.address } else { service.address },
            id: service.id,
            port: service.port,
            critical_checks: checks.into_iter().filter(is_critical).map(|check| check.name).collect(),
            is_transparent: service.proxy.mode == "transparent",
            is_terminating_gateway: service.kind == "terminating-gateway",
            protocol: config.get("protocol").and_then(|it| it.as_str()).map(str::to_owned),
            local_request_timeout_ms: config.get("local_request_timeout_ms").and_then(serde_json::Value::as_i64),
            wan: service.tagged_addresses.get("wan").map(|wan| (wan.address.clone(), wan.port)),
            local_service_port: service.proxy.local_service_port,
            local_service_address: service.proxy.local_service_address,
            upstreams: service.proxy.upstreams,
        }
    }
}

impl ConnectProxy {
    /// Whether it gets connections. A warning does not keep them away, unless a subset says so.
    pub fn is_passing(&self) -> bool {
        self.critical_checks.is_empty()
    }
}

/// Where the proxies of a service are searched, if not in the datacenter that answers.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProxyPlace<'a> {
    pub datacenter: Option<&'a str>,
    /// Another cluster that exports the service.
    pub peer: Option<&'a str>,
    /// The expression of a subset; empty for every proxy.
    pub filter: &'a str,
}

impl HttpConsul {
    /// The proxies of a service. It takes `service:read` and `node:read`; to a token without them, Consul 1.8 answers with an empty list.
    pub async fn proxies_of(
        &self,
        service: &str,
        tenancy: &Tenancy,
        place: ProxyPlace<'_>,
    ) -> Result<Vec<ConnectProxy>, ConsulError> {
        let request = Request::list(format!("proxies of service {service}"), &["health", "connect", service]);
        let filter = Some(place.filter).filter(|filter| !filter.is_empty());
        let parts = [("dc", place.datacenter), ("peer", place.peer), ("filter", filter)];
        let named = parts.into_iter().filter_map(|(key, value)| Some((key, value?)));
        let request = named.fold(request, |request, (key, value)| request.query(key, value));
        self.json(&request.within(tenancy)).await
    }

    /// The names of the services in the catalog.
    pub async fn service_names(&self, tenancy: &Tenancy) -> Result<Vec<String>, ConsulError> {
        let request = Request::list("the services of the catalog", &["catalog", "services"]).within(tenancy);
        let answer: BTreeMap<String, Vec<String>> = self.json(&request).await?;
        Ok(answer.into_keys().collect())
    }
}
