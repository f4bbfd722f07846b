//! `CONSUL_ECS_CONFIG_JSON` as the modules make it.

use serde_json::json;

use super::{
    inputs::Inputs,
    naming::{namespace, service_name},
    release::Kind,
};
use crate::{
    document::{Node, Value},
    input::terraform_source::{
        functions::json_encoded,
        values::{as_bool, node, unknown},
    },
};

/// The environment with the configuration.
pub(super) fn environment(inputs: &Inputs, configuration: &Node) -> Node {
    let value = json_encoded(configuration, inputs.label);
    inputs.list(vec![inputs.map([("name", inputs.made("CONSUL_ECS_CONFIG_JSON".into())), ("value", value)])])
}

/// The configuration of a mesh task from 0.7 on.
pub(super) fn mesh_task(inputs: &Inputs, health_sync_containers: Node) -> Node {
    let service = inputs.map([
        ("name", service_name(inputs, Kind::MeshTask)),
        ("tags", inputs.texts("consul_service_tags", json!([]))),
        ("port", inputs.number("port", 0)),
        ("meta", inputs.texts("consul_service_meta", json!({}))),
        ("namespace", namespace(inputs, Kind::MeshTask)),
        ("partition", inputs.text("consul_partition", "")),
    ]);
    let proxy = inputs.map([
        ("publicListenerPort", inputs.number("envoy_public_listener_port", 20000)),
        ("upstreams", inputs.or("upstreams", json!([]))),
        ("healthCheckPort", inputs.number("envoy_readiness_port", 22000)),
    ]);
    let configuration = inputs.map([
        ("bootstrapDir", inputs.made("/consul".into())),
        ("consulLogin", login(inputs, None)),
        ("consulServers", servers(inputs)),
        ("healthSyncContainers", health_sync_containers),
        ("proxy", inputs.merge(&[proxy, inputs.extra("proxy")])),
        ("service", inputs.merge(&[service, inputs.extra("service")])),
    ]);
    with_transparent_proxy(inputs, configuration)
}

/// The configuration of a gateway from 0.7 on.
pub(super) fn gateway_task(inputs: &Inputs) -> Node {
    let lan_port = lan_port(inputs);
    let wan_port = port_or(inputs, "wan_port", &lan_port);
    let gateway = inputs.map([
        ("kind", inputs.text("kind", "")),
        ("name", service_name(inputs, Kind::GatewayTask)),
        ("tags", inputs.texts("consul_service_tags", json!([]))),
        ("meta", gateway_meta(inputs)),
        ("namespace", namespace(inputs, Kind::GatewayTask)),
        ("partition", inputs.text("consul_partition", "")),
        ("lanAddress", inputs.map([("address", inputs.text("lan_address", "")), ("port", lan_port)])),
        ("wanAddress", inputs.map([("address", wan_address(inputs)), ("port", wan_port)])),
    ]);
    let configuration = inputs.map([
        ("bootstrapDir", inputs.made("/consul".into())),
        ("consulLogin", login(inputs, None)),
        ("consulServers", servers(inputs)),
        ("gateway", gateway),
        ("healthSyncContainers", inputs.made(json!([]))),
    ]);
    with_transparent_proxy(inputs, configuration)
}

/// The configuration of a controller.
pub(super) fn controller(inputs: &Inputs) -> Node {
    let is_partitioned = inputs.flag("consul_partitions_enabled");
    let partition = match as_bool(&is_partitioned) {
        Some(true) => inputs.text("consul_partition", "default"),
        Some(false) => inputs.made("".into()),
        None => unknown(inputs.label),
    };
    let controller = inputs.map([
        ("iamRolePath", inputs.text("iam_role_path", "/consul-ecs/")),
        ("partitionsEnabled", is_partitioned),
        ("partition", partition),
    ]);
    inputs.map([
        ("bootstrapDir", inputs.made("/consul".into())),
        ("consulServers", servers(inputs)),
        ("controller", controller),
    ])
}

/// 8443 unless an input sets another port; 0 counts as not set.
pub(super) fn lan_port(inputs: &Inputs) -> Node {
    port_or(inputs, "lan_port", &inputs.made(json!(8443)))
}

fn port_or(inputs: &Inputs, name: &str, default: &Node) -> Node {
    let port = inputs.number(name, 0);
    match port.number() {
        Some(0) => default.clone(),
        _ => port,
    }
}

/// With a load balancer of the module, it is the balancer's.
pub(super) fn wan_address(inputs: &Inputs) -> Node {
    match inputs.is("lb_enabled") {
        Some(false) => inputs.text("wan_address", ""),
        Some(true) | None => unknown(inputs.label),
    }
}

pub(super) fn gateway_meta(inputs: &Inputs) -> Node {
    let own = inputs.texts("consul_service_meta", json!({}));
    match inputs.is("enable_mesh_gateway_wan_federation") {
        Some(true) => inputs.merge(&[own, inputs.made(json!({"consul-wan-federation": "1"}))]),
        Some(false) => own,
        None => inputs.merge(&[own, unknown(inputs.label)]),
    }
}

/// The login, if ACLs are enabled. `extra` are entries that a version adds.
pub(super) fn login(inputs: &Inputs, extra: Option<Node>) -> Node {
    let own = match inputs.is("acls") {
        Some(true) => {
            let method = inputs.text("service_token_auth_method_name", "iam-ecs-service-token");
            inputs.map([("enabled", inputs.flag("acls")), ("method", method)])
        }
        Some(false) => inputs.made(json!({})),
        None => unknown(inputs.label),
    };
    let is_on = matches!(&own.value, Value::Map(entries) if !entries.is_empty());
    let extra = extra.filter(|_| is_on).unwrap_or_else(|| inputs.made(json!({})));
    inputs.merge(&[own, extra, inputs.extra("consulLogin")])
}

fn servers(inputs: &Inputs) -> Node {
    let tls = inputs.flag("tls");
    let port = |secure: u64, plain: u64| match as_bool(&tls) {
        Some(is_secure) => node(Value::Number(if is_secure { secure } else { plain }.to_string()), tls.place.span),
        None => unknown(tls.place.span),
    };
    let hosts =
        if inputs.get("consul_server_hosts").is_some() { "consul_server_hosts" } else { "consul_server_address" };
    let http = inputs.map([("port", port(8501, 8500)), ("https", tls.clone())]);
    let grpc = inputs.map([("port", port(8503, 8502))]);
    let defaults = inputs.map([
        ("tls", tls.clone()),
        ("tlsServerName", inputs.text("tls_server_name", "")),
        ("caCertFile", inputs.text("ca_cert_file", "")),
    ]);
    inputs.map([
        ("hosts", inputs.text(hosts, "")),
        ("skipServerWatch", inputs.flag("skip_server_watch")),
        ("defaults", defaults),
        ("http", inputs.merge(&[http, inputs.or("http_config", json!({}))])),
        ("grpc", inputs.merge(&[grpc, inputs.or("grpc_config", json!({}))])),
    ])
}

/// From 0.8 on.
fn with_transparent_proxy(inputs: &Inputs, configuration: Node) -> Node {
    if inputs.release.minor < 8 {
        return configuration;
    }
    let own = inputs.map([
        ("enabled", inputs.transparent_proxy()),
        ("excludeInboundPorts", inputs.or("exclude_inbound_ports", json!([]))),
        ("excludeOutboundPorts", inputs.or("exclude_outbound_ports", json!([]))),
        ("excludeOutboundCIDRs", inputs.or("exclude_outbound_cidrs", json!([]))),
        ("excludeUIDs", inputs.or("exclude_uids", json!([]))),
        ("consulDNS", inputs.map([("enabled", inputs.flag("enable_consul_dns"))])),
    ]);
    let transparent = inputs.merge(&[inputs.extra("transparentProxy"), own]);
    inputs.merge(&[configuration, inputs.map([("transparentProxy", transparent)])])
}
