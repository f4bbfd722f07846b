//! The Consul client agent: its container and its script.

use std::net::IpAddr;

use super::{fixes::mount, mesh_ports::ports_span, prelude::*};
use crate::subject::{AgentScript, BINARY_DIRECTORY, Software, image_of, names};
use audit_read::definition::PortMapping;

pub(super) static CONSUL_CLIENT_MISSING: Rule =
    Rule::of_task(page!("consul-client-missing"), Applies::ConsulClient, check_client_missing);

fn check_client_missing(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    if consul.client.is_some() || !consul.is_complete {
        return;
    }
    let span = consul.mesh_init.map_or(subject.definition.span(), Container::span);
    findings.add(Draft::new(
        span,
        "the task has no Consul client agent",
        format!(
            "add the container {}, or move to consul-ecs {} and Consul Dataplane",
            names::CLIENT,
            Generation::Dataplane.releases().since
        ),
    ));
}

pub(super) static CONSUL_CLIENT_IMAGE: Rule =
    Rule::once_per_task(page!("consul-client-image"), Applies::ConsulClient, check_client_image);

fn check_client_image(subject: &Subject<'_>) -> Option<Draft> {
    let container = subject.consul.as_ref()?.client?;
    let image = image_of(container)?;
    (image.software().is_some_and(|software| software != Software::Consul)).then(|| {
        let message = format!("{} has the image {}", container.label(), image.name);
        Draft::new(container.image.span(), message, "use an image of Consul").of(container)
    })
}

pub(super) static CONSUL_CLIENT_MOUNTS: Rule =
    Rule::of_task(page!("consul-client-mounts"), Applies::ConsulClient, check_client_mounts);

fn check_client_mounts(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(client) = consul.client else { return };
    let Some(script) = AgentScript::of(client) else { return };
    for (volume, path) in [("consul_data", consul.shared_directory()), ("consul_binary", Some(BINARY_DIRECTORY))] {
        if let Some(path) = path.filter(|path| script.mentions(&format!("{path}/"))) {
            check_mount(subject, client, volume, path, findings);
        }
    }
}

fn check_mount(subject: &Subject<'_>, client: &Container, volume: &str, path: &str, findings: &mut Findings) {
    match client.mount_at(path) {
        Maybe::Absent if !has_mount_below(client, path) => {
            let message = format!("{} mounts nothing at {path}", client.label());
            let fix = mount(subject.definition, client, volume, path, false);
            let help = format!("mount the volume {volume} at {path}");
            findings.add(Draft::new(client.mount_points.place.span, message, help).of(client).fix(fix));
        }
        Maybe::Known(mount) if mount.read_only.known() == Some(&true) => {
            let place = &mount.read_only.place;
            let message = format!("{} cannot write to {path}", client.label());
            let fix = Fix::set(place, false);
            findings.add(Draft::new(place.span, message, "set readOnly to false").of(client).fix(fix));
        }
        Maybe::Absent | Maybe::Known(_) | Maybe::Unknown => {}
    }
}

/// Some definitions share only a subdirectory.
fn has_mount_below(client: &Container, path: &str) -> bool {
    let is_below = |at: &str| at.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
    client.mount_points.items.iter().filter_map(|mount| mount.container_path.text()).any(is_below)
}

/// The variables that the agents' scripts expect, and their contents.
const EXPECTED: [(&str, &str); 6] = [
    ("CONSUL_CACERT", "the certificate of the CA that signed the Consul servers' certificates"),
    ("CONSUL_CACERT_PEM", "the certificate of the CA that signed the Consul servers' certificates"),
    ("CONSUL_HTTPS_CACERT_PEM", "the certificate of the CA that signed the certificate of Consul's HTTPS API"),
    ("CONSUL_GOSSIP_ENCRYPTION_KEY", "the key of the gossip encryption"),
    ("AGENT_TOKEN", "the client agents' ACL token"),
    ("CONSUL_HTTP_TOKEN", "an ACL token"),
];

pub(super) static CONSUL_CLIENT_SECRETS: Rule =
    Rule::of_task(page!("consul-client-secrets"), Applies::ConsulClient, check_client_secrets);

fn check_client_secrets(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(client) = subject.consul.as_ref().and_then(|consul| consul.client) else { return };
    let Some(script) = AgentScript::of(client).filter(AgentScript::has_shell) else { return };
    for (name, what) in EXPECTED {
        if script.needs_variable(name) && matches!(client.environment_has(name), Maybe::Absent) {
            let secrets = &client.secrets;
            let span = if secrets.is_present { secrets.place.span } else { client.span() };
            let message = format!("the script of {} uses {name}, which is not set", client.label());
            findings.add(Draft::new(span, message, format!("add the secret {name}: {what}")).of(client));
        }
    }
}

/// The ports that a client agent listens on, and their purposes. Servers also use 8300 and 8302; the Terraform modules
/// of 0.2 mapped 8300 nevertheless.
pub(super) const PORTS: [(u64, &str); 5] =
    [(GOSSIP, "gossip"), (8500, "HTTP API"), (8501, "HTTPS API"), (8502, "gRPC API"), (8600, "DNS")];

/// The port at which agents gossip.
pub(super) const GOSSIP: u64 = 8301;

/// The port that is closed by default: an app may use it.
pub(super) const ON_REQUEST: u64 = 8501;

pub(super) static CONSUL_CLIENT_PORTS: Rule =
    Rule::of_task(page!("consul-client-ports"), Applies::ConsulClient, check_client_ports);

fn check_client_ports(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(client) = consul.client else { return };
    for mapping in &client.port_mappings.items {
        if let Some((port, what)) = agents_port(mapping) {
            let message = format!("{} maps port {port}, the agent's {what}", client.label());
            let fix = Fix::remove(&mapping.place);
            findings.add(Draft::new(mapping.place.span, message, "remove the mapping").of(client).fix(fix));
        }
    }
    for app in &consul.apps {
        collisions(app, findings);
    }
}

fn collisions(app: &Container, findings: &mut Findings) {
    for mapping in &app.port_mappings.items {
        if let Some((port, what)) = agents_port(mapping).filter(|(port, _)| *port != ON_REQUEST) {
            let message =
                format!("{} listens on port {port}, and so does the task's Consul agent: {what}", app.label());
            let span = ports_span(mapping);
            findings.add(Draft::new(span, message, "let the app listen on another port").of(app));
        }
    }
}

fn agents_port(mapping: &PortMapping) -> Option<(u64, &'static str)> {
    let ports = mapping.ports()?;
    PORTS.into_iter().find(|(known, _)| ports.contains(known))
}

/// What the agent or its script does wrong, and how to correct it.
pub(super) type Fault = (String, String);

/// The client agent's container and its script.
pub(super) fn agent<'d>(subject: &Subject<'d>) -> Option<(&'d Container, AgentScript<'d>)> {
    let client = subject.consul.as_ref()?.client?;
    Some((client, AgentScript::of(client)?))
}

pub(super) static CONSUL_CLIENT_SHELL: Rule =
    Rule::once_per_task(page!("consul-client-shell"), Applies::ConsulClient, check_client_shell);

fn check_client_shell(subject: &Subject<'_>) -> Option<Draft> {
    let (client, script) = agent(subject)?;
    // A word with unknown parts may be the shell or its flag.
    let words = client.entry_point.items.iter().chain(&client.command.items);
    let is_known = words.filter(|word| script.script().is_none_or(|script| script.span() != word.span()));
    if !script.is_script() || script.has_shell() || is_known.into_iter().any(|word| word.text().is_none()) {
        return None;
    }
    let entry_point = &client.entry_point;
    let message = match entry_point.texts() {
        Some(words) if !words.is_empty() => {
            format!("{} has a script, and the entry point {}", client.label(), entry_point.shown_program())
        }
        _ => format!("{} has a script, but no shell to run it", client.label()),
    };
    // If the command has other words next to the script, the right entry point is unknown.
    let is_plain = client.command.items.len() == 1;
    let fix = Fix::set(&entry_point.place, vec!["/bin/sh", "-ec"]).filter(|_| is_plain);
    let help = "set the entry point to [\"/bin/sh\", \"-ec\"]";
    Some(Draft::new(entry_point.place.span, message, help).of(client).fix(fix))
}

pub(super) static CONSUL_CLIENT_EXEC: Rule =
    Rule::once_per_task(page!("consul-client-exec"), Applies::ConsulClient, check_client_exec);

fn check_client_exec(subject: &Subject<'_>) -> Option<Draft> {
    let (client, script) = agent(subject).filter(|(_, script)| script.has_shell())?;
    // A script that catches TERM may stop the agent itself.
    if script.starts_agent_with_exec() != Some(false) || script.mentions("trap ") {
        return None;
    }
    let text = script.script()?;
    let message = format!("the script of {} starts the agent without exec", client.label());
    Some(Draft::new(text.span(), message, "start the agent with exec consul agent").of(client))
}

pub(super) static CONSUL_CLIENT_LEAVE: Rule =
    Rule::once_per_task(page!("consul-client-leave"), Applies::ConsulClient, check_client_leave);

const SETTING: &str = "leave_on_terminate";

fn check_client_leave(subject: &Subject<'_>) -> Option<Draft> {
    let (client, script) = agent(subject)?;
    if script.setting(SETTING) != Some("false") {
        return None;
    }
    let text = script.script()?;
    let repaired = text.text().map(|text| text.replace("leave_on_terminate = false", "leave_on_terminate = true"));
    let fix = repaired.filter(|repaired| text.text() != Some(repaired)).and_then(|text_| Fix::set(&text.place, text_));
    let message = format!("the agent of {} does not leave the cluster: {SETTING} is false", client.label());
    Some(Draft::new(text.span(), message, format!("set {SETTING} to true")).of(client).fix(fix))
}

pub(super) static CONSUL_CLIENT_RETRY_JOIN: Rule =
    Rule::once_per_task(page!("consul-client-retry-join"), Applies::ConsulClient, check_client_retry_join);

/// These settings and flags contain members, and retry.
const KEEPS_TRYING: [&str; 4] = ["retry_join", "retry-join", "auto_config", "server_addresses"];
/// These do not retry.
const TRIES_ONCE: [&str; 2] = ["start_join", "-join"];

fn check_client_retry_join(subject: &Subject<'_>) -> Option<Draft> {
    let (client, script) = agent(subject).filter(|(_, script)| script.is_all())?;
    let mentions = |names: &[&str]| names.iter().any(|name| script.mentions(name));
    let message = if !mentions(&KEEPS_TRYING) && mentions(&TRIES_ONCE) {
        format!("the agent of {} joins only once, and does not retry", client.label())
    } else if !mentions(&KEEPS_TRYING) {
        format!("the agent of {} has no address to join", client.label())
    } else if script.has_empty_list("retry_join") {
        format!("retry_join of {} is empty", client.label())
    } else {
        return None;
    };
    let text = script.script()?;
    Some(Draft::new(text.span(), message, "set retry_join to the addresses of the Consul servers").of(client))
}

pub(super) static CONSUL_CLIENT_ADVERTISE: Rule =
    Rule::once_per_task(page!("consul-client-advertise"), Applies::ConsulClient, check_client_advertise);

/// The settings and flags for the address. `advertise_reconnect_timeout` has another purpose.
const ADDRESS_SETTINGS: [&str; 4] = ["advertise_addr", "bind_addr", "-advertise", "-bind"];

fn check_client_advertise(subject: &Subject<'_>) -> Option<Draft> {
    let (client, script) = agent(subject)?;
    let value = script.setting("advertise_addr").or_else(|| script.flag("advertise"));
    let message = match value {
        Some(value) if value.parse::<IpAddr>().is_ok() => {
            format!("the agent of {} advertises {value} in every task", client.label())
        }
        None if script.is_all() && !ADDRESS_SETTINGS.iter().any(|setting| script.mentions(setting)) => {
            format!("the agent of {} has no address to advertise", client.label())
        }
        Some(_) | None => return None,
    };
    let text = script.script()?;
    let help = "set advertise_addr to the first address of the task's metadata: .Networks[0].IPv4Addresses[0]";
    Some(Draft::new(text.span(), message, help).of(client))
}

pub(super) static CONSUL_CLIENT_HTTP_EXPOSED: Rule =
    Rule::once_per_task(page!("consul-client-http-exposed"), Applies::ConsulClient, check_client_http_exposed);

const HELP: &str = "set client_addr to 127.0.0.1, or http in addresses";

fn check_client_http_exposed(subject: &Subject<'_>) -> Option<Draft> {
    let (client, script) = agent(subject).filter(|(_, script)| script.is_all())?;
    let address = script.setting("client_addr").or_else(|| script.flag("client"));
    let own = match script.setting_in("addresses", "http") {
        Some(own) => own,
        None if script.mentions("addresses") => return None,
        None => None,
    };
    if own.or(address) != Some("0.0.0.0") {
        return None;
    }
    let text = script.script()?;
    let message = format!("the agent of {} serves its APIs to the network", client.label());
    Some(Draft::new(text.span(), message, HELP).of(client))
}
