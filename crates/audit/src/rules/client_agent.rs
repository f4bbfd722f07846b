//! The container of the Consul client agent.

use super::prelude::*;
use crate::subject::{AgentScript, BINARY_DIRECTORY, Software, image_of, names};
use audit_read::definition::PortMapping;

pub(super) static CONSUL_CLIENT_MISSING: Rule = Rule {
    id: "consul-client-missing",
    summary: "with consul-ecs up to 0.6, the task has a Consul client agent",
    effect: "mesh-init finds no agent to register the service with, and waits for one until the task is stopped",
    explanation: "\
Up to consul-ecs 0.6, mesh-init, health-sync and Envoy connect to a Consul agent in the same task, at 127.0.0.1. The \
agent joins the cluster, and the task's services are registered with it. From 0.7 on, tasks connect to the Consul \
servers directly, and Consul Dataplane replaces the agent and Envoy.",
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
        format!("add the container {}, or move to consul-ecs 0.8 and Consul Dataplane", names::CLIENT),
    ));
}

pub(super) static CONSUL_CLIENT_IMAGE: Rule = Rule {
    id: "consul-client-image",
    summary: "consul-client has the image of Consul",
    severity: Severity::Warning,
    effect: "the container has no program called consul and stops, and mesh-init waits for its agent until the task is stopped",
    explanation: "\
The container's script starts Consul's agent, which is the program `consul`. The images of consul-ecs, of Consul \
Dataplane and of Envoy do not contain it. Images with unknown names count as mirrors of Consul's image.",
    sources: &["https://gallery.ecr.aws/hashicorp/consul"],
    example: Some(Base::Client.wrong("containerDefinitions[consul-client].image", r#""hashicorp/consul-ecs:0.4.3""#)),
    ..Rule::of_task(Applies::ConsulClient, check_client_image)
};

fn check_client_image(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(container) = subject.consul.as_ref().and_then(|consul| consul.client) else { return };
    let Some(image) = image_of(container) else { return };
    if image.software().is_some_and(|software| software != Software::Consul) {
        let message = format!("{} has the image {}", container.label(), image.name);
        findings.add(Draft::new(container.image.span(), message, "use an image of Consul").of(container));
    }
}

pub(super) static CONSUL_CLIENT_MOUNTS: Rule = Rule {
    id: "consul-client-mounts",
    summary: "consul-client mounts the shared volumes, both writable",
    is_fixable: true,
    effect: "mesh-init finds no program consul, or the script fails to write its files and the agent never starts",
    explanation: "\
The script of `consul-client` copies the program `consul` to `/bin/consul-inject`, where mesh-init runs it, and writes \
the CA's certificate, the agent's configuration and its token below the directory that all containers share, usually \
`/consul`. Both directories are volumes, which this container must be able to write to. A directory that the script \
does not mention needs no mount.",
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
            let fix = subject.mount(client, volume, path, false);
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
    effect: "the variable is empty: the agent stops, trusts no server or has no permissions, and mesh-init waits until the task is stopped",
    explanation: "\
The script reads secrets from environment variables: with TLS the CA's certificate (`CONSUL_CACERT`, from 0.5 on \
`CONSUL_CACERT_PEM` and `CONSUL_HTTPS_CACERT_PEM`), with gossip encryption the key (`CONSUL_GOSSIP_ENCRYPTION_KEY`), \
with ACLs the agent's token (`AGENT_TOKEN`), unless the script logs in for one. A shell replaces an unset variable by \
nothing, so that only the errors of the agent show the problem. Each variable belongs under `secrets`.",
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
const PORTS: [(u64, &str); 5] =
    [(8301, "gossip"), (8500, "HTTP API"), (8501, "HTTPS API"), (8502, "gRPC API"), (8600, "DNS")];

/// The port that is closed by default: an app may use it.
const ON_REQUEST: u64 = 8501;

pub(super) static CONSUL_CLIENT_PORTS: Rule = Rule {
    id: "consul-client-ports",
    summary: "no container maps the ports of the client agent",
    severity: Severity::Warning,
    is_fixable: true,
    effect: "load balancers and service discovery expose the agent's API, with the permissions of its token, like a port of the app; an app cannot open such a port",
    explanation: "\
The task's Consul agent serves its own task, at 127.0.0.1: Envoy gets its configuration and mesh-init registers the \
service there. From outside, only the gossip of other agents reaches it, which needs no port mapping with the network \
mode `awsvpc`. Load balancers, service discovery and security groups are often configured from the port mappings. All \
containers of the task share one network interface, so that an app cannot listen on these ports either.",
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
            let span = mapping.container_port.span();
            findings.add(Draft::new(span, message, "let the app listen on another port").of(app));
        }
    }
}

fn agents_port(mapping: &PortMapping) -> Option<(u64, &'static str)> {
    let port = mapping.container_port.known()?;
    PORTS.into_iter().find(|(known, _)| known == port)
}
