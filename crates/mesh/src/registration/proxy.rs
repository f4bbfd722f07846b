//! The configuration of a sidecar proxy or gateway:
//! <https://developer.hashicorp.com/consul/docs/reference/proxy/connect-proxy>

use std::fmt;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};

/// The port of a sidecar proxy without `publicListenerPort`.
const PUBLIC_LISTENER_PORT: u16 = 20_000;

/// `Proxy` of a registration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxy {
    /// The service of a sidecar proxy; gateways have none.
    pub destination: Option<ProxyDestination>,
    /// `Config`: what is configured for Envoy.
    pub config: OpaqueConfig,
    /// The services that the proxy listens for.
    pub upstreams: Vec<Upstream>,
    /// How it reaches other datacenters.
    pub mesh_gateway: Option<MeshGateway>,
    /// The paths that it serves without mutual TLS.
    pub expose: Option<Expose>,
    /// Whether the proxy's mode is `transparent`.
    pub is_transparent: bool,
}

/// The service whose traffic a sidecar proxy takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyDestination {
    /// `DestinationServiceID`.
    pub service_id: String,
    /// `DestinationServiceName`.
    pub service_name: String,
    /// `LocalServiceAddress`, if configured: Consul's default is `127.0.0.1`.
    pub address: Option<String>,
    /// `LocalServicePort`; 0 if the service has none.
    pub port: u16,
}

/// Configuration that Consul passes to Envoy as it is. It is not printed, because it may contain secrets.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
pub struct OpaqueConfig(pub Map<String, Value>);

/// An upstream: a service that the proxy makes reachable on a local port.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Upstream {
    /// What the name is that of; Consul's default is a service.
    pub destination_type: Option<DestinationType>,
    /// The namespace of the destination (Enterprise).
    pub destination_namespace: Option<String>,
    /// The partition of the destination (Enterprise).
    pub destination_partition: Option<String>,
    /// The cluster peer of the destination.
    pub destination_peer: Option<String>,
    /// The name of the destination.
    pub destination_name: String,
    /// The datacenter of the destination.
    pub datacenter: Option<String>,
    /// The address on which the proxy listens; Consul's default is `127.0.0.1`.
    pub local_bind_address: Option<String>,
    /// The port on which the proxy listens.
    pub local_bind_port: u16,
    /// What is configured for Envoy.
    pub config: Option<OpaqueConfig>,
    /// How the proxy reaches the destination in another datacenter.
    pub mesh_gateway: Option<MeshGateway>,
}

/// What an upstream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DestinationType {
    /// A service.
    Service,
    /// A prepared query.
    PreparedQuery,
}

/// How a proxy uses mesh gateways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeshGateway {
    /// `Mode`.
    pub mode: MeshGatewayMode,
}

/// The modes of mesh gateways: <https://developer.hashicorp.com/consul/docs/connect/gateways/mesh-gateway>
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeshGatewayMode {
    /// No mesh gateway.
    None,
    /// Through the mesh gateway of the proxy's own datacenter.
    Local,
    /// Through the mesh gateway of the destination's datacenter.
    Remote,
}

/// `Expose`: what a proxy serves without mutual TLS.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expose {
    /// Whether the paths of the agent's checks are exposed.
    pub checks: Option<bool>,
    /// The exposed paths.
    pub paths: Option<Vec<ExposedPath>>,
}

/// A path that a proxy serves without mutual TLS.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExposedPath {
    /// The port on which the proxy listens.
    pub listener_port: Option<u16>,
    /// The path.
    pub path: Option<String>,
    /// The port of the service.
    pub local_path_port: Option<u16>,
    /// `http` or `http2`.
    pub protocol: Option<String>,
}

/// `proxy` in the configuration of consul-ecs.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ProxyFields {
    config: Option<OpaqueConfig>,
    local_service_address: Option<String>,
    public_listener_port: Option<u16>,
    /// The port of a health check of the dataplane, which is not registered.
    #[serde(rename = "healthCheckPort")]
    _health_check_port: Option<IgnoredAny>,
    upstreams: Option<Vec<Upstream>>,
    mesh_gateway: Option<MeshGateway>,
    expose: Option<Expose>,
}

impl ProxyFields {
    /// The port of the sidecar proxy.
    pub(super) fn port(&self) -> u16 {
        self.public_listener_port.filter(|port| *port != 0).unwrap_or(PUBLIC_LISTENER_PORT)
    }

    /// The sidecar proxy of the service `id` called `name`, which listens on `port`.
    pub(super) fn sidecar(&self, id: &str, name: &str, port: u16) -> Proxy {
        let address = self.local_service_address.clone().filter(|address| !address.is_empty());
        Proxy {
            destination: Some(ProxyDestination {
                service_id: id.to_owned(),
                service_name: name.to_owned(),
                address,
                port,
            }),
            config: self.config.clone().unwrap_or_default(),
            upstreams: self.upstreams.clone().unwrap_or_default(),
            mesh_gateway: self.mesh_gateway,
            expose: self.expose.clone(),
            is_transparent: false,
        }
    }
}

impl DestinationType {
    /// The type as in Consul's API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::PreparedQuery => "prepared_query",
        }
    }
}

impl MeshGatewayMode {
    /// The mode as in Consul's API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Local => "local",
            Self::Remote => "remote",
        }
    }
}

impl Proxy {
    /// Whether the configuration of the proxy or of an upstream has `null` inside a list. Consul accepts it with status 200, and
    /// from then on answers no read of that service or node (seen with 1.8.7 and 1.22).
    pub fn has_null_in_list(&self) -> bool {
        let of_upstreams = self.upstreams.iter().filter_map(|upstream| upstream.config.as_ref());
        of_upstreams.chain([&self.config]).any(|config| config.0.values().any(has_null_in_list))
    }
}

fn has_null_in_list(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| item.is_null() || has_null_in_list(item)),
        Value::Object(fields) => fields.values().any(has_null_in_list),
        _ => false,
    }
}

impl fmt::Debug for OpaqueConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} fields (not shown)", self.0.len())
    }
}
