//! The Consul client agent: its container and its script.

use std::net::IpAddr;

use super::{fixes::mount, mesh_ports::ports_span, prelude::*};
use crate::subject::{AgentScript, BINARY_DIRECTORY, Software, image_of, names};
use audit_read::definition::PortMapping;

pub(super) static CONSUL_CLIENT_MISSING: Rule = Rule {
    id: "consul-client-missing",
    summary: "with consul-ecs up to 0.6, the task has a Consul client agent",
    effect: "mesh-init finds no agent to register the service with, and waits until the task is stopped",
    explanation: "\
Up to consul-ecs 0.6, mesh-init, health-sync and Envoy connect to a Consul agent in the same task, at 127.0.0.1. The \
agent joins the cluster and registers the task's services. From 0.7 on, Consul Dataplane replaces the agent and \
Envoy.",
    sources: &[pages::CONSUL_CLIENT_ARCHITECTURE],
    example: Some(Base::Client.missing("containerDefinitions[consul-client]")),
    ..Rule::of_task(Applies::ConsulClient, check_client_missing)
};

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

pub(super) static CONSUL_CLIENT_IMAGE: Rule = Rule {
    id: "consul-client-image",
    summary: "consul-client has the image of Consul",
    severity: Severity::Warning,
    effect: "the container has no program consul and stops, and mesh-init waits until the task is stopped",
    explanation: "\
The container's script starts the program `consul`. The images of consul-ecs, of Consul Dataplane and of Envoy do not \
contain it. Images with unknown names count as mirrors of Consul's image.",
    sources: &["https://gallery.ecr.aws/hashicorp/consul"],
    example: Some(Base::Client.wrong("containerDefinitions[consul-client].image", r#""hashicorp/consul-ecs:0.4.3""#)),
    ..Rule::once_per_task(Applies::ConsulClient, check_client_image)
};

fn check_client_image(subject: &Subject<'_>) -> Option<Draft> {
    let container = subject.consul.as_ref()?.client?;
    let image = image_of(container)?;
    (image.software().is_some_and(|software| software != Software::Consul)).then(|| {
        let message = format!("{} has the image {}", container.label(), image.name);
        Draft::new(container.image.span(), message, "use an image of Consul").of(container)
    })
}

pub(super) static CONSUL_CLIENT_MOUNTS: Rule = Rule {
    id: "consul-client-mounts",
    summary: "consul-client mounts the shared volumes, both writable",
    is_fixable: true,
    effect: "mesh-init finds no program consul, or the script cannot write its files and starts no agent",
    explanation: "\
The script of `consul-client` copies the program `consul` to `/bin/consul-inject`, where mesh-init runs it. It writes \
the CA's certificate, the agent's configuration and its token below the shared directory, usually `/consul`. Both \
directories are volumes that this container must be able to write to. A directory that the script does not mention \
needs no mount.",
    sources: &[pages::CONSUL_CLIENT_INSTALL],
    example: Some(Base::Client.wrong("containerDefinitions[consul-client].mountPoints[consul_data].readOnly", "true")),
    ..Rule::of_task(Applies::ConsulClient, check_client_mounts)
};

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

pub(super) static CONSUL_CLIENT_SECRETS: Rule = Rule {
    id: "consul-client-secrets",
    summary: "the secrets that the script of consul-client uses are set",
    effect: "the agent stops, trusts no server or has no permissions, and mesh-init waits until the task is stopped",
    explanation: "\
The script reads secrets from environment variables: with TLS the CA's certificate (`CONSUL_CACERT`, from 0.5 on \
`CONSUL_CACERT_PEM` and `CONSUL_HTTPS_CACERT_PEM`), with gossip encryption the key (`CONSUL_GOSSIP_ENCRYPTION_KEY`), \
with ACLs the agent's token (`AGENT_TOKEN`), unless the script logs in for one. A shell replaces an unset variable by \
nothing, so only the agent's errors show the problem. Set each variable under `secrets`.",
    sources: &[pages::CONSUL_CLIENT_SECURITY, pages::ECS_SENSITIVE_DATA],
    example: Some(Base::Client.missing("containerDefinitions[consul-client].secrets[CONSUL_CACERT]")),
    ..Rule::of_task(Applies::ConsulClient, check_client_secrets)
};

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
    [(8301, "gossip"), (8500, "HTTP API"), (8501, "HTTPS API"), (8502, "gRPC API"), (8600, "DNS")];

/// The port that is closed by default: an app may use it.
pub(super) const ON_REQUEST: u64 = 8501;

pub(super) static CONSUL_CLIENT_PORTS: Rule = Rule {
    id: "consul-client-ports",
    summary: "no container maps the ports of the client agent",
    severity: Severity::Warning,
    is_fixable: true,
    effect: "load balancers and service discovery may expose the agent's API, with the permissions of its token",
    explanation: "\
The task's Consul agent serves its own task at 127.0.0.1. From outside, only the gossip of other agents reaches it, \
which needs no port mapping in the network mode `awsvpc`. Load balancers, service discovery and security groups are \
often configured from the port mappings. An app cannot listen on these ports either, because all containers of the \
task share one network interface.",
    sources: &["https://developer.hashicorp.com/consul/docs/install/ports", pages::ECS_AWSVPC],
    example: Some(Base::Client.wrong(
        "containerDefinitions[consul-client].portMappings",
        r#"[{ "containerPort": 8500, "protocol": "tcp" }]"#,
    )),
    ..Rule::of_task(Applies::ConsulClient, check_client_ports)
};

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

/// The client agent's container and its script.
pub(super) fn agent<'d>(subject: &Subject<'d>) -> Option<(&'d Container, AgentScript<'d>)> {
    let client = subject.consul.as_ref()?.client?;
    Some((client, AgentScript::of(client)?))
}

/// A correct script without a configuration file: the complete `command` of `consul-client`.
pub(super) const SCRIPT: &str = r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -hcl 'leave_on_terminate = true' -encrypt $CONSUL_GOSSIP_ENCRYPTION_KEY\n"]"#;

pub(super) static CONSUL_CLIENT_SHELL: Rule = Rule {
    id: "consul-client-shell",
    summary: "a shell runs the script of consul-client",
    is_fixable: true,
    effect: "ECS takes the script for the name of a program, and the agent never starts",
    explanation: "\
The container of the agent runs a script, and ECS starts no shell by itself. The entry point must be a shell that \
takes the script as an argument, such as `[\"/bin/sh\", \"-ec\"]`. With `-e`, the script stops at the first error \
instead of starting an agent with an incomplete configuration.",
    sources: &[pages::CONSUL_CLIENT_INSTALL, pages::ECS_CONTAINER],
    example: Some(Base::Client.missing("containerDefinitions[consul-client].entryPoint")),
    ..Rule::once_per_task(Applies::ConsulClient, check_client_shell)
};

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

pub(super) static CONSUL_CLIENT_EXEC: Rule = Rule {
    id: "consul-client-exec",
    summary: "the script of consul-client ends with exec consul agent",
    effect: "ECS kills the agent, and its node and services remain in Consul as failed",
    explanation: "\
ECS sends TERM to the container's main process. Without `exec`, that is the shell, which does not forward the signal: \
the agent runs until it is killed, and does not leave the cluster. Consul keeps a failed member and its services as \
critical instances for 72 hours. With `exec`, the agent replaces the shell and gets the signal.",
    sources: &[pages::CONSUL_CLIENT_ARCHITECTURE, "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_StopTask.html"],
    example: Some(Base::Client.wrong("containerDefinitions[consul-client].command", r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nconsul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -hcl 'leave_on_terminate = true' -encrypt $CONSUL_GOSSIP_ENCRYPTION_KEY\n"]"#).repaired_to(SCRIPT)),
    ..Rule::once_per_task(Applies::ConsulClient, check_client_exec)
};

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

pub(super) static CONSUL_CLIENT_LEAVE: Rule = Rule {
    id: "consul-client-leave",
    summary: "the client agent leaves the cluster when its task ends",
    is_fixable: true,
    effect: "each task that ends stays in Consul as a failed node for 72 hours, with critical instances",
    explanation: "\
With `leave_on_terminate = true`, the agent leaves the cluster when it gets TERM, and its node and services are \
removed at once. With `false` it just stops, as in a crash, and Consul waits for it to come back, which a task never \
does. The default of client agents is `true`, so only `false` is reported.",
    sources: &[pages::CONSUL_AGENT_CONFIGURATION, pages::CONSUL_CLIENT_ARCHITECTURE],
    example: Some(Base::Client.wrong("containerDefinitions[consul-client].command", r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -hcl 'leave_on_terminate = false'\n"]"#).repaired_to(r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -hcl 'leave_on_terminate = true'\n"]"#)),
    ..Rule::once_per_task(Applies::ConsulClient, check_client_leave)
};

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

pub(super) static CONSUL_CLIENT_RETRY_JOIN: Rule = Rule {
    id: "consul-client-retry-join",
    summary: "the client agent has addresses to join, and retries",
    effect: "the agent joins no cluster, and mesh-init waits until the task is stopped",
    explanation: "\
A client agent needs the address of at least one member of the cluster, and must retry until that member responds: \
tasks also start while the servers restart. `retry_join` does both; it takes addresses, DNS names and cloud lookups \
such as `provider=aws`. If part of the agent's configuration is in a file outside of the script, nothing is reported.",
    sources: &[pages::CONSUL_AGENT_CONFIGURATION, "https://developer.hashicorp.com/consul/docs/install/cloud-auto-join"],
    example: Some(Base::Client.wrong("containerDefinitions[consul-client].command", r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP\n"]"#).repaired_to(SCRIPT)),
    ..Rule::once_per_task(Applies::ConsulClient, check_client_retry_join)
};

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

pub(super) static CONSUL_CLIENT_ADVERTISE: Rule = Rule {
    id: "consul-client-advertise",
    summary: "the client agent advertises the address in the task's metadata",
    severity: Severity::Warning,
    effect: "other agents and proxies may get an address at which the task is unreachable",
    explanation: "\
A task has several network interfaces: its own, with the address in the VPC, and one or two for ECS's endpoints. \
Without `advertise_addr`, the agent may choose the wrong one. The right address is in the task's metadata: \
`Networks[0].IPv4Addresses[0]` in the response of `$ECS_CONTAINER_METADATA_URI_V4`. A fixed address is wrong for \
every task but one.",
    sources: &[pages::CONSUL_AGENT_CONFIGURATION, "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v4-fargate.html"],
    example: Some(Base::Client.wrong("containerDefinitions[consul-client].command", r#"["cp /bin/consul /bin/consul-inject/consul\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -retry-join consul.example.internal -hcl 'leave_on_terminate = true'\n"]"#).repaired_to(SCRIPT)),
    ..Rule::once_per_task(Applies::ConsulClient, check_client_advertise)
};

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

pub(super) static CONSUL_CLIENT_HTTP_EXPOSED: Rule = Rule {
    id: "consul-client-http-exposed",
    summary: "the client agent serves its APIs at 127.0.0.1 only",
    severity: Severity::Warning,
    effect: "any host that reaches the task's address can register services and read the catalog through its agent",
    explanation: "\
`client_addr` is the address at which the agent serves HTTP, gRPC and DNS. `0.0.0.0` includes the task's address in \
the VPC, which only the security group protects; without ACLs, the API accepts every request. The task's own \
containers reach the agent at 127.0.0.1. The official script keeps `client_addr = \"0.0.0.0\"` and sets `addresses` \
for each API, which takes precedence.",
    sources: &[pages::CONSUL_AGENT_CONFIGURATION],
    example: Some(Base::Client.wrong("containerDefinitions[consul-client].command", r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 0.0.0.0 -advertise $IP -retry-join consul.example.internal\n"]"#).repaired_to(SCRIPT)),
    ..Rule::once_per_task(Applies::ConsulClient, check_client_http_exposed)
};

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
