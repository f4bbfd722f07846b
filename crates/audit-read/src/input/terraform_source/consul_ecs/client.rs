//! The containers of the modules before 0.7, with a Consul client agent. The agent's script and secrets are the
//! module's own: they are unknown, so that no rule judges them.

use serde_json::{Value as Json, json};

use super::{
    configuration::{environment, gateway_meta, lan_port, login, wan_address},
    containers::{apps, data_mount, health_synced, init_mounts, made},
    inputs::Inputs,
    naming::{namespace, service_name},
    release::Kind,
};
use crate::{
    document::{HOLE, Node, Value},
    input::terraform_source::values::{entry, map, text, unknown},
};

/// The containers of mesh-task.
pub(super) fn mesh_task(inputs: &Inputs) -> Node {
    let awaited = json!([
        {"containerName": "consul-ecs-mesh-init", "condition": "SUCCESS"},
        {"containerName": "sidecar-proxy", "condition": "HEALTHY"}
    ]);
    let mut containers = apps(inputs, &awaited);
    let synced = synced(inputs);
    let is_synced = match &synced.value {
        Value::List(names) => Some(!names.is_empty()),
        _ => None,
    };
    let environment = configured(inputs, || mesh_configuration(inputs, synced));
    let listener = inputs.number("envoy_public_listener_port", 20000);
    containers.push(init(inputs, &environment));
    containers.push(agent(inputs));
    let mappings = if inputs.release.minor < 4 { unknown(inputs.label) } else { inputs.made(json!([])) };
    containers.push(proxy(inputs, false, &listener, mappings));
    containers.extend(health_sync(inputs, &environment, is_synced));
    inputs.list(containers)
}

/// With Consul's own checks, no container's health is synced.
fn synced(inputs: &Inputs) -> Node {
    let checks = inputs.or("checks", json!([]));
    match &checks.value {
        Value::List(items) if items.is_empty() => health_synced(inputs),
        Value::List(_) => inputs.list(Vec::new()),
        _ => unknown(checks.place.span),
    }
}

/// The containers of gateway-task.
pub(super) fn gateway_task(inputs: &Inputs) -> Node {
    let port = lan_port(inputs);
    let environment = configured(inputs, || gateway_configuration(inputs));
    let mapping = inputs.map([
        ("containerPort", port.clone()),
        ("hostPort", port.clone()),
        ("protocol", inputs.made("tcp".into())),
    ]);
    let mut containers =
        vec![init(inputs, &environment), agent(inputs), proxy(inputs, true, &port, inputs.list(vec![mapping]))];
    containers.extend(health_sync(inputs, &environment, inputs.is("acls")));
    inputs.list(containers)
}

/// Before 0.4, flags instead of a configuration are used, so that the environment is unknown.
fn configured(inputs: &Inputs, configuration: impl FnOnce() -> Node) -> Node {
    if inputs.release.minor < 4 { unknown(inputs.label) } else { environment(inputs, &configuration()) }
}

fn mesh_configuration(inputs: &Inputs, synced: Node) -> Node {
    let service = inputs.map([
        ("name", service_name(inputs, Kind::MeshTask)),
        ("port", inputs.number("port", 0)),
        ("tags", inputs.texts("consul_service_tags", json!([]))),
        ("meta", inputs.texts("consul_service_meta", json!({}))),
        ("checks", inputs.or("checks", json!([]))),
        ("namespace", inputs.text("consul_namespace", "")),
        ("partition", inputs.text("consul_partition", "")),
    ]);
    let proxy = match inputs.get("envoy_public_listener_port") {
        Some(_) => inputs.map([("publicListenerPort", inputs.number("envoy_public_listener_port", 20000))]),
        None => inputs.made(json!({})),
    };
    let proxy = inputs.merge(&[proxy, inputs.map([("upstreams", inputs.or("upstreams", json!([])))])]);
    let configuration = inputs.map([
        ("bootstrapDir", inputs.made("/consul".into())),
        ("healthSyncContainers", synced),
        ("proxy", inputs.merge(&[pruned(proxy), inputs.extra("proxy")])),
        ("service", inputs.merge(&[pruned(service), inputs.extra("service")])),
    ]);
    with_servers(inputs, pruned(configuration))
}

fn gateway_configuration(inputs: &Inputs) -> Node {
    let port = lan_port(inputs);
    let wan_port = inputs.number("wan_port", 0);
    let wan_port = if wan_port.number() == Some(0) { port.clone() } else { wan_port };
    let gateway = inputs.map([
        ("kind", inputs.text("kind", "")),
        ("name", service_name(inputs, Kind::GatewayTask)),
        ("lanAddress", pruned(inputs.map([("address", inputs.text("lan_address", "")), ("port", port)]))),
        ("wanAddress", pruned(inputs.map([("address", wan_address(inputs)), ("port", wan_port)]))),
        ("meta", gateway_meta(inputs)),
        ("namespace", namespace(inputs, Kind::GatewayTask)),
        ("partition", inputs.text("consul_partition", "")),
    ]);
    let configuration = inputs.map([("bootstrapDir", inputs.made("/consul".into())), ("gateway", pruned(gateway))]);
    with_servers(inputs, configuration)
}

/// From 0.5 on, the service's token is that of a login at the servers.
fn with_servers(inputs: &Inputs, configuration: Node) -> Node {
    if inputs.release.minor < 5 {
        return configuration;
    }
    let certificate = match inputs.is_empty(&inputs.text("consul_https_ca_cert_arn", "")) {
        Some(true) => inputs.made("".into()),
        Some(false) => inputs.made("/consul/consul-https-ca-cert.pem".into()),
        None => unknown(inputs.label),
    };
    let servers = inputs.map([
        ("consulHTTPAddr", inputs.text("consul_http_addr", "")),
        ("consulCACertFile", certificate),
        ("consulLogin", login(inputs, Some(inputs.made(json!({"includeEntity": true}))))),
    ]);
    inputs.merge(&[configuration, pruned(servers)])
}

/// Without empty values: the modules leave them out.
fn pruned(value: Node) -> Node {
    let Value::Map(entries) = &value.value else { return value };
    let is_empty = |node: &Node| match &node.value {
        Value::Null => true,
        Value::Text(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(entries) => entries.is_empty(),
        _ => false,
    };
    let kept = entries.iter().filter(|one| !is_empty(&one.node)).cloned().collect();
    map(kept, value.place.span)
}

fn init(inputs: &Inputs, environment: &Node) -> Node {
    let fixed = json!({
        "name": "consul-ecs-mesh-init", "essential": false, "mountPoints": init_mounts(), "cpu": 0, "volumesFrom": [],
    });
    let own = [
        ("image", inputs.consul_ecs_image()),
        ("command", command(inputs, "mesh-init")),
        ("environment", environment.clone()),
        ("secrets", secrets(inputs)),
        ("linuxParameters", init_process(inputs)),
    ];
    made(inputs, fixed, own)
}

/// Since 0.4, an init process forwards signals.
fn init_process(inputs: &Inputs) -> Node {
    if inputs.release.minor < 4 { unknown(inputs.label) } else { inputs.made(json!({"initProcessEnabled": true})) }
}

/// Before 0.4, the command has flags.
fn command(inputs: &Inputs, name: &str) -> Node {
    if inputs.release.minor < 4 { unknown(inputs.label) } else { inputs.made(json!([name])) }
}

/// Before 0.5, the token is from a secret that the controller creates.
fn secrets(inputs: &Inputs) -> Node {
    if inputs.release.minor < 5 { unknown(inputs.label) } else { inputs.made(json!([])) }
}

fn agent(inputs: &Inputs) -> Node {
    let fixed = json!({
        "name": "consul-client", "essential": false, "cpu": 0, "volumesFrom": [],
        "linuxParameters": {"initProcessEnabled": true},
        "mountPoints": [
            data_mount(false), {"sourceVolume": "consul_binary", "containerPath": "/bin/consul-inject"}
        ],
    });
    let unknowns = ["entryPoint", "command", "environment", "secrets", "portMappings"];
    let own = unknowns.map(|key| (key, unknown(inputs.label)));
    let image = inputs.map([("image", inputs.image("consul_image", "public.ecr.aws/hashicorp/consul"))]);
    inputs.merge(&[made(inputs, fixed, own), image])
}

fn proxy(inputs: &Inputs, is_gateway: bool, port: &Node, port_mappings: Node) -> Node {
    // Before 0.4, and in gateways, it has the image's own entry point.
    let entry_point = match inputs.release.minor {
        4.. if !is_gateway => json!(["/consul/consul-ecs", "envoy-entrypoint"]),
        _ => Json::Null,
    };
    let fixed = json!({
        "name": "sidecar-proxy", "entryPoint": entry_point, "essential": is_gateway, "command": ["envoy", "--config-path", "/consul/envoy-bootstrap.json"],
        "mountPoints": [data_mount(true)],
        "dependsOn": [{"containerName": "consul-ecs-mesh-init", "condition": "SUCCESS"}],
        "cpu": 0, "volumesFrom": [], "environment": [],
        "ulimits": [{"name": "nofile", "softLimit": 1_048_576, "hardLimit": 1_048_576}],
    });
    let shown = match &port.value {
        Value::Number(number) => number.clone(),
        _ => HOLE.to_string(),
    };
    let words = ["nc", "-z", "127.0.0.1"].map(|word| inputs.made(word.into()));
    let words = words.into_iter().chain([text(shown, port.place.span)]).collect();
    let check = inputs.merge(&[
        inputs.made(json!({"interval": 30, "retries": 3, "timeout": 5})),
        map(vec![entry("command", inputs.list(words))], inputs.label),
    ]);
    let own = [
        ("image", inputs.text("envoy_image", &format!("envoyproxy/envoy{HOLE}"))),
        ("healthCheck", check),
        ("portMappings", port_mappings),
    ];
    made(inputs, fixed, own)
}

/// The module adds it only if there is something to report, or a login to end.
fn health_sync(inputs: &Inputs, environment: &Node, is_synced: Option<bool>) -> Vec<Node> {
    let is_there = match (is_synced, inputs.is("acls").filter(|_| inputs.release.minor >= 5)) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        (Some(false), None) if inputs.release.minor < 5 => Some(false),
        _ => None,
    };
    inputs.when(is_there, || {
        let mounts: Json = if inputs.release.minor >= 5 { json!([data_mount(true)]) } else { json!([]) };
        let fixed = json!({
            "name": "consul-ecs-health-sync", "essential": false, "cpu": 0, "volumesFrom": [], "portMappings": [],
            "dependsOn": [{"containerName": "consul-ecs-mesh-init", "condition": "SUCCESS"}],
            "mountPoints": mounts,
        });
        let own = [
            ("image", inputs.consul_ecs_image()),
            ("command", command(inputs, "health-sync")),
            ("environment", environment.clone()),
            ("secrets", secrets(inputs)),
            ("linuxParameters", init_process(inputs)),
        ];
        vec![made(inputs, fixed, own)]
    })
}
