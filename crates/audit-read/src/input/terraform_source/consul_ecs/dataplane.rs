//! The containers of the modules from 0.7 on, with Consul Dataplane.

use serde_json::{Value as Json, json};

use super::{
    configuration::{environment, gateway_task as gateway_configuration, lan_port, mesh_task as mesh_configuration},
    containers::{apps, certificates, data_mount, health_synced, init_mounts, local_address, made},
    inputs::Inputs,
};
use crate::{
    document::{Node, Value},
    input::terraform_source::values::{as_bool, unknown},
};

/// The container that prepares the others.
fn first(inputs: &Inputs) -> (&'static str, &'static str) {
    if inputs.release.minor == 7 {
        ("consul-ecs-control-plane", "HEALTHY")
    } else {
        ("consul-ecs-mesh-init", "SUCCESS")
    }
}

fn dependency(name: &str, condition: &str) -> Json {
    json!({"containerName": name, "condition": condition})
}

/// The containers of mesh-task.
pub(super) fn mesh_task(inputs: &Inputs) -> Node {
    let dataplane = dependency("consul-dataplane", "HEALTHY");
    let (name, condition) = first(inputs);
    let awaited =
        if inputs.release.minor == 7 { json!([dependency(name, condition), dataplane]) } else { json!([dataplane]) };
    let mut containers = apps(inputs, &awaited);
    let configuration = mesh_configuration(inputs, health_synced(inputs));
    containers.extend(helpers(inputs, &configuration, proxy(inputs, false, inputs.made(json!([])))));
    inputs.list(containers)
}

/// The containers of gateway-task.
pub(super) fn gateway_task(inputs: &Inputs) -> Node {
    let configuration = gateway_configuration(inputs);
    let port = lan_port(inputs);
    let mapping =
        inputs.map([("containerPort", port.clone()), ("hostPort", port), ("protocol", inputs.made("tcp".into()))]);
    let own = inputs.or("extra_container_definitions", json!([]));
    let mut containers = match own.value {
        Value::List(items) => items,
        _ => vec![unknown(own.place.span)],
    };
    containers.extend(helpers(inputs, &configuration, proxy(inputs, true, inputs.list(vec![mapping]))));
    inputs.list(containers)
}

/// The module's own containers, in its order.
fn helpers(inputs: &Inputs, configuration: &Node, proxy: Node) -> Vec<Node> {
    let mut containers = vec![initial(inputs, configuration), proxy];
    if inputs.release.minor >= 8 {
        containers.push(health_sync(inputs, configuration));
    }
    containers
}

/// mesh-init, or in 0.7 the control plane, which stays.
fn initial(inputs: &Inputs, configuration: &Node) -> Node {
    let (name, _) = first(inputs);
    let fixed = if inputs.release.minor == 7 {
        json!({
            "name": name, "essential": false, "command": ["control-plane"], "mountPoints": init_mounts(), "cpu": 0,
            "volumesFrom": [], "linuxParameters": {"initProcessEnabled": true},
            "healthCheck": {
                "command": ["CMD-SHELL", control_plane_check(inputs)],
                "interval": 30, "retries": 10, "timeout": 5
            },
        })
    } else {
        json!({
            "name": name, "essential": false, "command": ["mesh-init"], "mountPoints": init_mounts(), "cpu": 0,
            "volumesFrom": [], "linuxParameters": {"initProcessEnabled": true, "capabilities": {"add": [], "drop": []}},
        })
    };
    let container = made(
        inputs,
        fixed,
        [
            ("image", inputs.consul_ecs_image()),
            ("environment", environment(inputs, configuration)),
            ("secrets", inputs.list(inputs.when(inputs.is("tls"), || certificates(inputs)))),
        ],
    );
    match as_bool(&inputs.transparent_proxy()) {
        _ if inputs.release.minor < 8 => container,
        Some(false) => container,
        Some(true) => {
            let capabilities = json!({
                "user": "0",
                "linuxParameters": {"initProcessEnabled": true, "capabilities": {"add": ["NET_ADMIN"], "drop": []}},
            });
            inputs.merge(&[container, inputs.made(capabilities)])
        }
        None => made_unknown(inputs, container, ["user", "linuxParameters"]),
    }
}

/// Only 0.7.0 takes any answer for health. Source: the changelog of 0.7.1
fn control_plane_check(inputs: &Inputs) -> &'static str {
    match inputs.release.patch {
        Some(0) => "curl localhost:10000/consul-ecs/health",
        Some(_) | None => "curl -f localhost:10000/consul-ecs/health",
    }
}

fn made_unknown(inputs: &Inputs, container: Node, keys: [&str; 2]) -> Node {
    inputs.merge(&[container, inputs.map(keys.map(|key| (key, unknown(inputs.label))))])
}

fn proxy(inputs: &Inputs, is_essential: bool, port_mappings: Node) -> Node {
    let (name, condition) = first(inputs);
    let (interval, retries) = if inputs.release.minor == 7 { (30, 3) } else { (5, 10) };
    // Since 0.8, redirected traffic is told from the proxy's own by its user.
    let user = if inputs.release.minor >= 8 { "5995".into() } else { Json::Null };
    let fixed = json!({
        "name": "consul-dataplane", "user": user, "essential": is_essential, "entryPoint": ["/consul/consul-ecs", "envoy-entrypoint"],
        "command": ["consul-dataplane", "-config-file", "/consul/consul-dataplane.json"],
        "dependsOn": [dependency(name, condition)], "cpu": 0, "volumesFrom": [], "environment": [],
        "ulimits": [{"name": "nofile", "softLimit": 1_048_576, "hardLimit": 1_048_576}],
    });
    let readiness = local_address(&inputs.number("envoy_readiness_port", 22000));
    let command = [inputs.made("/consul/consul-ecs".into()), inputs.made("net-dial".into()), readiness];
    let health_check = inputs.merge(&[
        inputs.made(json!({"interval": interval, "retries": retries, "timeout": 5})),
        inputs.map([("command", inputs.list(command.into()))]),
    ]);
    let mut mounts = vec![inputs.made(data_mount(true))];
    if is_essential && inputs.get("volumes").is_some() {
        // A gateway's proxy also mounts the volumes that the module gets.
        mounts.push(unknown(inputs.label));
    }
    made(
        inputs,
        fixed,
        [
            ("image", inputs.image("consul_dataplane_image", "hashicorp/consul-dataplane")),
            ("healthCheck", health_check),
            ("portMappings", port_mappings),
            ("mountPoints", inputs.list(mounts)),
        ],
    )
}

fn health_sync(inputs: &Inputs, configuration: &Node) -> Node {
    let (name, condition) = first(inputs);
    let fixed = json!({
        "name": "consul-ecs-health-sync", "essential": false, "command": ["health-sync"], "user": "5996", "cpu": 0,
        "volumesFrom": [], "portMappings": [], "dependsOn": [dependency(name, condition)],
        "linuxParameters": {"initProcessEnabled": true}, "mountPoints": [data_mount(true)],
    });
    made(
        inputs,
        fixed,
        [
            ("image", inputs.consul_ecs_image()),
            ("environment", environment(inputs, configuration)),
            ("secrets", inputs.list(inputs.when(inputs.is("tls"), || certificates(inputs)))),
        ],
    )
}
