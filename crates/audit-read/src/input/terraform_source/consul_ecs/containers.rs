//! What the modules do with the containers that they get, and parts that their own containers share.

use serde_json::{Value as Json, json};

use super::inputs::Inputs;
use crate::{
    document::{HOLE, Node, Place, Value},
    input::terraform_source::values::{as_number, closed, entry, is_open, list, text, unknown},
};

/// The app's containers: each waits for `awaited`, and gets the entry point that delays its stop. Values that the module
/// adds have the place of the container's name.
pub(super) fn apps(inputs: &Inputs, awaited: &Json) -> Vec<Node> {
    let given = inputs.or("container_definitions", json!([]));
    match &given.value {
        Value::List(items) => items.iter().map(|item| app(inputs, item, awaited)).collect(),
        _ => vec![unknown(given.place.span)],
    }
}

fn app(inputs: &Inputs, container: &Node, awaited: &Json) -> Node {
    let container = closed(container.clone());
    let Value::Map(own) = &container.value else { return container };
    let span = container.get("name").map_or(container.place.span, |name| name.place.span);
    let at_name = Inputs { given: std::collections::BTreeMap::new(), label: span, release: inputs.release };
    let mut entries = own.clone();
    let mut set = |key: &str, node: Node| {
        entries.retain(|entry| entry.key != key);
        entries.push(entry(key, node));
    };
    set("dependsOn", with(container.get("dependsOn"), at_name.made(awaited.clone()).items().to_vec(), span));
    let delay = Delay::of(inputs);
    if own.iter().all(|entry| entry.key != "entryPoint") {
        match delay {
            Delay::None => {}
            Delay::Seconds(seconds) => {
                let words = json!(["/consul/consul-ecs", "app-entrypoint", "-shutdown-delay", format!("{seconds}s")]);
                set("entryPoint", at_name.made(words));
            }
            Delay::Unknown => set("entryPoint", unknown(span)),
        }
    }
    let mounts = match delay {
        Delay::None => Vec::new(),
        Delay::Seconds(_) => vec![at_name.made(data_mount(true))],
        Delay::Unknown => vec![unknown(span)],
    };
    set("mountPoints", with(container.get("mountPoints"), mounts, span));
    Node { value: Value::Map(entries), place: container.place }
}

/// A list of the user with more items at its end. Edits reach the user's items.
fn with(own: Option<&Node>, more: Vec<Node>, span: crate::document::Span) -> Node {
    match own {
        Some(Node { value: Value::List(items), place }) => {
            Node { value: Value::List(items.iter().cloned().chain(more).collect()), place: place.clone() }
        }
        Some(other) => Node { value: Value::Unknown, place: Place::fixed(other.place.span) },
        None => list(more, span),
    }
}

/// `application_shutdown_delay_seconds`
#[derive(Clone, Copy)]
enum Delay {
    None,
    Seconds(f64),
    Unknown,
}

impl Delay {
    fn of(inputs: &Inputs) -> Self {
        let seconds = inputs.number("application_shutdown_delay_seconds", 0);
        match as_number(&seconds) {
            Some(seconds) if seconds > 0.0 => Self::Seconds(seconds),
            Some(_) => Self::None,
            None => Self::Unknown,
        }
    }
}

/// The names of the essential containers with a health check, which health-sync reports.
pub(super) fn health_synced(inputs: &Inputs) -> Node {
    let given = inputs.or("container_definitions", json!([]));
    let Value::List(items) = &given.value else { return unknown(given.place.span) };
    let mut names = Vec::new();
    for item in items {
        let has = |key: &str| item.entries().iter().any(|entry| entry.key == key);
        if !matches!(item.value, Value::Map(_)) || is_open(item) {
            return unknown(item.place.span);
        }
        // A null counts as a key.
        let check = item.entries().iter().find(|entry| entry.key == "healthCheck");
        match check.map(|check| &check.node.value) {
            Some(Value::Unknown) if has("essential") => return unknown(item.place.span),
            // Before 0.6, null counts as a health check. Source: the changelog of 0.6.0
            Some(Value::Null) if inputs.release.minor >= 6 => {}
            Some(_) if has("essential") => names.extend(item.get("name").cloned()),
            _ => {}
        }
    }
    let mut names = inputs.list(names);
    names.remove_routes();
    names
}

/// The mount of the volume that all containers of the mesh share.
pub(super) fn data_mount(is_read_only: bool) -> Json {
    json!({"sourceVolume": "consul_data", "containerPath": "/consul", "readOnly": is_read_only})
}

/// The mounts of the container that prepares the others.
pub(super) fn init_mounts() -> Json {
    json!([
        data_mount(false),
        {"sourceVolume": "consul_binary", "containerPath": "/bin/consul-inject", "readOnly": true}
    ])
}

/// A container that the module makes, with values from inputs.
pub(super) fn made<const N: usize>(inputs: &Inputs, fixed: Json, given: [(&str, Node); N]) -> Node {
    inputs.merge(&[inputs.made(fixed), inputs.map(given)])
}

/// A secret environment variable, if there is a secret.
pub(super) fn secret(inputs: &Inputs, name: &str, value_from: &Node) -> Vec<Node> {
    inputs.when(inputs.is_empty(value_from).map(|is_empty| !is_empty), || {
        vec![inputs.map([("name", inputs.made(name.into())), ("valueFrom", value_from.clone())])]
    })
}

/// The secrets with the certificates of the servers from 0.7 on.
pub(super) fn certificates(inputs: &Inputs) -> Vec<Node> {
    let mut secrets =
        secret(inputs, "CONSUL_HTTPS_CACERT_PEM", &inputs.text_or("consul_https_ca_cert_arn", "consul_ca_cert_arn"));
    secrets.extend(secret(
        inputs,
        "CONSUL_GRPC_CACERT_PEM",
        &inputs.text_or("consul_grpc_ca_cert_arn", "consul_ca_cert_arn"),
    ));
    secrets
}

/// A port in the text `127.0.0.1:PORT`.
pub(super) fn local_address(port: &Node) -> Node {
    let shown = match &port.value {
        Value::Number(port) => port.clone(),
        _ => HOLE.to_string(),
    };
    text(format!("127.0.0.1:{shown}"), port.place.span)
}
