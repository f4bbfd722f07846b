//! The declaration of `CONSUL_ECS_CONFIG_JSON`: each field with its type, the releases that have it, and how the controller
//! reads it. A field of a new release is one line here.
//!
//! Sources: the changelog and reference of the releases, <https://developer.hashicorp.com/consul/docs/reference/ecs>,
//! <https://developer.hashicorp.com/consul/docs/ecs/reference/configuration-reference>

use std::{collections::BTreeMap, fmt};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::ports;
use super::release::Releases;
use super::schema::{Choice, DefaultValue, Field, Kind, PORT, REAL_PORT, choices, configuration};
use crate::release::Release;

/// Configuration that Consul passes to Envoy as it is. It is not printed, because it may contain secrets.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
pub struct OpaqueConfig(pub Map<String, Value>);

impl fmt::Debug for OpaqueConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} fields (not shown)", self.0.len())
    }
}

choices! {
    /// The kinds of gateway that Consul on ECS runs.
    GatewayKind, "gateway.kind" {
        /// Traffic between datacenters, partitions and peers.
        MeshGateway = "mesh-gateway" since 5,
        /// Traffic into the mesh.
        ApiGateway = "api-gateway" since 8,
        /// Traffic out of the mesh.
        TerminatingGateway = "terminating-gateway" since 8,
    }
}

choices! {
    /// What an upstream is.
    DestinationType, "destinationType" {
        Service = "service" since 3,
        PreparedQuery = "prepared_query" since 3,
    }
}

choices! {
    /// The modes of mesh gateways: <https://developer.hashicorp.com/consul/docs/connect/gateways/mesh-gateway>
    MeshGatewayMode, "meshGateway.mode" {
        /// No mesh gateway.
        None = "none" since 3,
        /// Through the mesh gateway of the proxy's own datacenter.
        Local = "local" since 3,
        /// Through the mesh gateway of the destination's datacenter.
        Remote = "remote" since 3,
    }
}

const fn any(text: &'static str) -> Choice {
    Choice { text, releases: Releases::since(3) }
}

const LOG_LEVELS: &[Choice] = &[any("TRACE"), any("DEBUG"), any("INFO"), any("WARN"), any("ERROR")];
const STATUSES: &[Choice] = &[any("passing"), any("warning"), any("critical"), any("maintenance")];
/// The releases before 0.6 that know `proxy.publicListenerPort`, by their `config/schema.json`.
const WITH_LISTENER_PORT: &[Release] = &[Release::new(0, 4, 3), Release::new(0, 5, 2)];
const ANY_NUMBER: Kind = Kind::Whole(i64::MIN, i64::MAX);
const COUNT: Kind = Kind::Whole(0, i64::MAX);
const PERCENT: Kind = Kind::Whole(0, 100);

configuration! {
    /// The complete configuration.
    section ROOT => Root [strict read] {
        "bootstrapDir" = Field::must(Kind::NotEmpty);
        "consulCACertFile" = Field::may(Kind::Text).since(5).until(6);
        "consulHTTPAddr" = Field::may(Kind::Text).since(5).until(6);
        "consulLogin" => consul_login: Option<Login> = Field::may(Kind::Map(&LOGIN)).since(5);
        "consulServers" => consul_servers: Option<Servers> = Field::must(Kind::Map(&SERVERS)).since(7);
        "controller" = Field::may(Kind::Map(&CONTROLLER)).since(7);
        "gateway" => gateway: Option<Gateway> = Field::not_null(Kind::Map(&GATEWAY)).since(5);
        "healthSyncContainers" => health_sync_containers: Option<Vec<String>> = Field::may(Kind::Texts);
        "logLevel" = Field::may(Kind::OneOf(LOG_LEVELS)).since(5);
        "proxy" => proxy: Option<ServiceProxy> = Field::may(Kind::Map(&PROXY));
        "service" => service: Option<Service> = Field::not_null(Kind::Map(&SERVICE));
        "transparentProxy" => transparent_proxy: Option<TransparentProxy> =
            Field::may(Kind::Map(&TRANSPARENT_PROXY)).since(8);
    }

    section LOGIN => Login [strict partly] {
        "enabled" => enabled: Option<bool> = Field::may(Kind::Flag);
        "method" => method: Option<String> = Field::may(Kind::Text);
        "includeEntity" = Field::may(Kind::Flag);
        "extraLoginFlags" = Field::may(Kind::Words).until(5);
        "meta" = Field::may(Kind::TextMap).since(6);
        "region" = Field::may(Kind::Text).since(6);
        "stsEndpoint" = Field::may(Kind::Text).since(6);
        "serverIdHeaderValue" = Field::may(Kind::Text).since(6);
        "datacenter" => datacenter: Option<String> = Field::may(Kind::Text).since(7);
    }

    section SERVERS => Servers [strict partly] {
        "hosts" => hosts: Option<String> = Field::must(Kind::NotEmpty);
        "skipServerWatch" = Field::may(Kind::Flag);
        "defaults" = Field::may(Kind::Map(&TLS));
        "http" = Field::may(Kind::Map(&HTTP));
        "grpc" = Field::may(Kind::Map(&GRPC));
    }

    section TLS [lenient read] {
        "caCertFile" = Field::may(Kind::Text);
        "tls" = Field::may(Kind::Flag);
        "tlsServerName" = Field::may(Kind::Text);
    }

    section HTTP [lenient read] {
        "caCertFile" = Field::may(Kind::Text);
        "https" = Field::may(Kind::Flag);
        "port" = Field::may(PORT);
        "tls" = Field::may(Kind::Flag);
        "tlsServerName" = Field::may(Kind::Text);
    }

    section GRPC [lenient read] {
        "caCertFile" = Field::may(Kind::Text);
        "port" = Field::may(PORT);
        "tls" = Field::may(Kind::Flag);
        "tlsServerName" = Field::may(Kind::Text);
    }

    section CONTROLLER [strict read] {
        "iamRolePath" = Field::may(Kind::Text);
        "partitionsEnabled" = Field::may(Kind::Flag);
        "partition" = Field::may(Kind::Text);
    }

    section TRANSPARENT_PROXY => TransparentProxy [strict read] {
        "enabled" => enabled: Option<bool> = Field::may(Kind::Flag);
        "excludeInboundPorts" = Field::may(Kind::Ports);
        "excludeOutboundPorts" = Field::may(Kind::Ports);
        "excludeOutboundCIDRs" = Field::may(Kind::Texts);
        "excludeUIDs" = Field::may(Kind::Texts);
        "consulDNS" = Field::not_null(Kind::Map(&DNS));
    }

    section DNS [strict read] {
        "enabled" = Field::may(Kind::Flag);
    }

    /// A service. consul-ecs reads one that is absent as one without a name and a port.
    #[derive(Default)]
    section SERVICE => Service [strict read] {
        "name" => name: Option<String> = Field::may(Kind::Text);
        "port" => port: u16 = Field::must(PORT);
        "tags" => tags: Option<Vec<String>> = Field::may(Kind::Texts);
        "meta" => meta: Option<BTreeMap<String, String>> = Field::may(Kind::TextMap);
        "weights" => weights: Option<Weights> = Field::may(Kind::Map(&WEIGHTS));
        "enableTagOverride" => enable_tag_override: Option<bool> = Field::may(Kind::Flag);
        "namespace" => namespace: Option<String> = Field::may(Kind::Text);
        "partition" => partition: Option<String> = Field::may(Kind::Text);
        "checks" = Field::may(Kind::Maps(&CHECK)).until(6);
        "networkResilienceConfig" = Field::may(Kind::Map(&RESILIENCE)).since_release(9, 4);
    }

    #[derive(Copy)]
    section WEIGHTS => Weights [strict read] {
        // The weight while all checks pass.
        "passing" => passing: i64 = Field::must(ANY_NUMBER);
        // The weight while a check warns.
        "warning" => warning: i64 = Field::must(ANY_NUMBER);
    }

    section RESILIENCE [strict read] {
        "enabled" = Field::not_null(Kind::Flag);
        "outlierDetection" = Field::may(Kind::Map(&OUTLIER_DETECTION));
    }

    section OUTLIER_DETECTION [strict read] {
        "interval" = Field::not_null(COUNT);
        "maxFailures" = Field::not_null(Kind::Whole(1, i64::MAX));
        "enforcingConsecutive5xx" = Field::not_null(PERCENT);
        "maxEjectionPercent" = Field::not_null(PERCENT);
        "consecutive5xx" = Field::may(COUNT).since(10);
        "consecutiveGatewayFailure" = Field::may(COUNT).since(10);
        "enforcingConsecutiveGatewayFailure" = Field::may(PERCENT).since(10);
    }

    section CHECK [strict read] {
        "checkId" = Field::may(Kind::Text);
        "name" = Field::may(Kind::Text);
        "notes" = Field::may(Kind::Text);
        "status" = Field::may(Kind::OneOf(STATUSES));
        "interval" = Field::may(Kind::Text);
        "timeout" = Field::may(Kind::Text);
        "ttl" = Field::may(Kind::Text);
        "args" = Field::may(Kind::Words);
        "http" = Field::may(Kind::Text);
        "header" = Field::may(Kind::AnyMap);
        "method" = Field::may(Kind::Text);
        "body" = Field::may(Kind::Text);
        "tcp" = Field::may(Kind::Text);
        "tcpUseTls" = Field::may(Kind::Flag);
        "udp" = Field::may(Kind::Text);
        "os_service" = Field::may(Kind::Text);
        "grpc" = Field::may(Kind::Text);
        "grpcUseTls" = Field::may(Kind::Flag);
        "h2ping" = Field::may(Kind::Text);
        "h2pingUseTls" = Field::may(Kind::Flag);
        "tlsServerName" = Field::may(Kind::Text);
        "tlsSkipVerify" = Field::may(Kind::Flag);
        "aliasNode" = Field::may(Kind::Text);
        "aliasService" = Field::may(Kind::Text);
        "successBeforePassing" = Field::may(ANY_NUMBER);
        "failuresBeforeCritical" = Field::may(ANY_NUMBER);
    }

    /// The proxy of a service.
    section PROXY => ServiceProxy [lenient read] {
        "config" => config: Option<OpaqueConfig> = Field::may(Kind::AnyMap);
        "localServiceAddress" => local_service_address: Option<String> =
            Field::may(Kind::Text).since(7).default(DefaultValue::Text("127.0.0.1"));
        "publicListenerPort" => public_listener_port: Option<u16> =
            Field::may(PORT).since(6).and_in(WITH_LISTENER_PORT).default(DefaultValue::Port(ports::PUBLIC_LISTENER));
        "healthCheckPort" = Field::may(PORT).since(7).default(DefaultValue::Port(ports::READINESS));
        "upstreams" => upstreams: Option<Vec<Upstream>> = Field::may(Kind::Maps(&UPSTREAM));
        "meshGateway" => mesh_gateway: Option<MeshGateway> = Field::may(Kind::Map(&MESH_GATEWAY));
        "expose" => expose: Option<Expose> = Field::may(Kind::Map(&EXPOSE));
    }

    /// A service that the proxy makes reachable on a local port.
    section UPSTREAM => Upstream [strict read] {
        "destinationName" => destination_name: String = Field::must(Kind::NotEmpty);
        "localBindPort" => local_bind_port: u16 = Field::must(REAL_PORT);
        // Consul's default is `127.0.0.1`.
        "localBindAddress" => local_bind_address: Option<String> = Field::may(Kind::Text);
        // Consul's default is a service.
        "destinationType" => destination_type: Option<DestinationType> =
            Field::may(Kind::OneOf(DestinationType::CHOICES));
        "destinationNamespace" => destination_namespace: Option<String> = Field::may(Kind::Text);
        "destinationPartition" => destination_partition: Option<String> = Field::may(Kind::Text);
        "destinationPeer" => destination_peer: Option<String> = Field::may(Kind::Text).since(7);
        "datacenter" => datacenter: Option<String> = Field::may(Kind::Text);
        "config" => config: Option<OpaqueConfig> = Field::may(Kind::AnyMap);
        "meshGateway" => mesh_gateway: Option<MeshGateway> = Field::may(Kind::Map(&MESH_GATEWAY));
    }

    #[derive(Copy)]
    section MESH_GATEWAY => MeshGateway [lenient read] {
        "mode" => mode: MeshGatewayMode = Field::must(Kind::OneOf(MeshGatewayMode::CHOICES));
    }

    /// What a proxy serves without mutual TLS.
    section EXPOSE => Expose [lenient read] {
        // Whether the paths of the agent's checks are exposed.
        "checks" => checks: Option<bool> = Field::may(Kind::Flag);
        "paths" => paths: Option<Vec<ExposedPath>> = Field::may(Kind::Maps(&EXPOSED_PATH));
    }

    section EXPOSED_PATH => ExposedPath [lenient read] {
        // The port on which the proxy listens.
        "listenerPort" => listener_port: Option<u16> = Field::may(PORT);
        "path" => path: Option<String> = Field::may(Kind::Text);
        // The port of the service.
        "localPathPort" => local_path_port: Option<u16> = Field::may(PORT);
        "protocol" => protocol: Option<String> = Field::may(Kind::OneOf(&[any("http"), any("http2")]));
    }

    section GATEWAY => Gateway [strict read] {
        "kind" => kind: GatewayKind = Field::must(Kind::OneOf(GatewayKind::CHOICES));
        "name" => name: Option<String> = Field::may(Kind::Text);
        "lanAddress" => lan_address: Option<Address> = Field::may(Kind::Map(&ADDRESS));
        "wanAddress" => wan_address: Option<Address> = Field::may(Kind::Map(&ADDRESS));
        "tags" => tags: Option<Vec<String>> = Field::may(Kind::Texts);
        "meta" => meta: Option<BTreeMap<String, String>> = Field::may(Kind::TextMap);
        "namespace" => namespace: Option<String> = Field::may(Kind::Text);
        "partition" => partition: Option<String> = Field::may(Kind::Text);
        "healthCheckPort" = Field::may(PORT).since(7);
        "proxy" => proxy: Option<GatewayProxy> = Field::may(Kind::Map(&GATEWAY_PROXY));
    }

    section ADDRESS => Address [strict read] {
        "address" => address: Option<String> = Field::may(Kind::Text);
        "port" => port: Option<u16> = Field::may(PORT);
    }

    section GATEWAY_PROXY => GatewayProxy [lenient read] {
        "config" => config: Option<OpaqueConfig> = Field::may(Kind::AnyMap);
    }
}
