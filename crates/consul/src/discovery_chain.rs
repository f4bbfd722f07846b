//! Discovery chains: what a service's name means to the proxy that calls it:
//! <https://developer.hashicorp.com/consul/api-docs/discovery-chain>.

use std::collections::BTreeMap;

use mesh::tenancy::Tenancy;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    error::ConsulError,
    http::HttpConsul,
    intentions::HttpMatch,
    request::{Request, or_default},
};

/// A chain as it was compiled. Consul compiles one for every name, whether or not a service has it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct DiscoveryChain {
    pub service_name: String,
    pub datacenter: String,
    pub protocol: String,
    /// The first of its nodes.
    pub start_node: String,
    #[serde(default, deserialize_with = "or_default")]
    pub nodes: BTreeMap<String, ChainNode>,
    #[serde(default, deserialize_with = "or_default")]
    pub targets: BTreeMap<String, ChainTarget>,
}

/// A router, a splitter or a resolver, by which of the fields it has.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ChainNode {
    #[serde(deserialize_with = "or_default")]
    pub routes: Vec<ChainRoute>,
    #[serde(deserialize_with = "or_default")]
    pub splits: Vec<ChainSplit>,
    pub resolver: Option<ChainResolver>,
}

/// A route of a router. The first that matches decides.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ChainRoute {
    #[serde(default, deserialize_with = "or_default")]
    pub definition: RouteDefinition,
    pub next_node: String,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RouteDefinition {
    #[serde(rename = "Match")]
    matched: Option<RouteMatch>,
    destination: Option<RouteDestination>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
struct RouteMatch {
    #[serde(rename = "HTTP")]
    http: Option<HttpMatch>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct RouteDestination {
    #[serde(deserialize_with = "or_default")]
    request_timeout: String,
}

impl RouteDefinition {
    /// Which requests take it; `None` for all.
    pub fn http(&self) -> Option<&HttpMatch> {
        self.matched.as_ref()?.http.as_ref()
    }

    /// How long a request may take, if the route says so, for example `30s`.
    pub fn request_timeout(&self) -> Option<&str> {
        given_timeout(&self.destination.as_ref()?.request_timeout)
    }
}

fn given_timeout(timeout: &str) -> Option<&str> {
    Some(timeout).filter(|it| !["", "0s"].contains(it))
}

/// A part of the requests.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ChainSplit {
    /// The percentage.
    pub weight: f32,
    pub next_node: String,
}

/// Which target requests go to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ChainResolver {
    pub target: String,
    #[serde(default, deserialize_with = "or_default")]
    request_timeout: String,
    failover: Option<ChainFailover>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ChainFailover {
    #[serde(default, deserialize_with = "or_default")]
    targets: Vec<String>,
}

impl ChainResolver {
    /// How long a request may take, if the resolver says so (Consul 1.15 and newer).
    pub fn request_timeout(&self) -> Option<&str> {
        given_timeout(&self.request_timeout)
    }

    /// The targets that get the requests while no instance of the first one passes, in their order.
    pub fn failover(&self) -> &[String] {
        self.failover.as_ref().map(|failover| failover.targets.as_slice()).unwrap_or_default()
    }
}

/// A service, or a subset of one, that requests may go to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ChainTarget {
    pub service: String,
    pub service_subset: String,
    pub namespace: String,
    pub partition: String,
    pub datacenter: String,
    pub peer: String,
    #[serde(deserialize_with = "or_default")]
    pub subset: SubsetDefinition,
    /// The beginning of the names of its clusters in Envoy.
    #[serde(rename = "SNI")]
    pub sni: String,
    #[serde(deserialize_with = "or_default")]
    mesh_gateway: GatewayMode,
}

/// How requests to another datacenter or partition get there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct GatewayMode {
    pub(crate) mode: String,
}

/// Which instances of a service are in a subset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SubsetDefinition {
    /// An expression about an instance.
    pub filter: String,
}

impl DiscoveryChain {
    /// The chain of a service of a peer. Consul compiles none: the peer's own routers and resolvers decide there.
    pub fn of_peer(service: &str, peer: &str) -> Self {
        let id = format!("{service}.{peer}");
        let target = ChainTarget { service: service.to_owned(), peer: peer.to_owned(), ..ChainTarget::default() };
        let resolver = ChainResolver { target: id.clone(), request_timeout: String::new(), failover: None };
        Self {
            service_name: service.to_owned(),
            datacenter: String::new(),
            protocol: String::new(),
            start_node: id.clone(),
            nodes: [(id.clone(), ChainNode { resolver: Some(resolver), ..ChainNode::default() })].into(),
            targets: [(id, target)].into(),
        }
    }
}

impl ChainTarget {
    /// The mode of mesh gateways, with which requests leave the datacenter or the partition: `local` or `remote`; others go there
    /// without a gateway.
    pub fn gateway_mode(&self) -> &str {
        &self.mesh_gateway.mode
    }

    /// Where its service is. Community Edition, in which `asked` has no names, answers with `default` for both.
    pub fn tenancy(&self, asked: &Tenancy) -> Tenancy {
        match (asked, self.partition.parse(), self.namespace.parse()) {
            (Tenancy::Enterprise { .. }, Ok(partition), Ok(namespace)) => Tenancy::Enterprise { partition, namespace },
            _ => asked.clone(),
        }
    }
}

/// What the proxy of an upstream has instead of the settings of the service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChainOverrides {
    pub protocol: Option<String>,
    pub connect_timeout_ms: Option<u64>,
    pub mesh_gateway_mode: Option<String>,
}

impl ChainOverrides {
    /// The body of the request; `None` without any.
    fn body(&self) -> Option<Value> {
        let mut body = serde_json::Map::new();
        if let Some(protocol) = &self.protocol {
            body.insert("OverrideProtocol".to_owned(), json!(protocol));
        }
        if let Some(timeout) = self.connect_timeout_ms {
            body.insert("OverrideConnectTimeout".to_owned(), json!(format!("{timeout}ms")));
        }
        if let Some(mode) = &self.mesh_gateway_mode {
            body.insert("OverrideMeshGateway".to_owned(), json!({ "Mode": mode }));
        }
        (!body.is_empty()).then_some(Value::Object(body))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ChainAnswer {
    chain: DiscoveryChain,
}

impl HttpConsul {
    /// The discovery chain of a service as a proxy with these overrides gets it; with `datacenter`, as proxies of that one get it. It
    /// takes `service:read`.
    pub async fn discovery_chain(
        &self,
        service: &str,
        tenancy: &Tenancy,
        datacenter: Option<&str>,
        overrides: &ChainOverrides,
    ) -> Result<DiscoveryChain, ConsulError> {
        let (subject, path) = (format!("discovery chain of service {service}"), ["discovery-chain", service]);
        let request = match overrides.body() {
            Some(body) => Request::post(subject, &path, body),
            None => Request::get(subject, &path),
        };
        let request = match datacenter {
            Some(datacenter) => request.query("compile-dc", datacenter),
            None => request,
        };
        let ChainAnswer { chain } = self.json(&request.within(tenancy)).await?;
        Ok(chain)
    }
}
