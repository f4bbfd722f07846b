use crate::{
    definition::{Container, PortMapping},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

/// The ports that a client agent listens on, and their purposes. Servers also use 8300 and 8302; the Terraform modules
/// of 0.2 mapped 8300 nevertheless.
const PORTS: [(u64, &str); 5] =
    [(8301, "gossip"), (8500, "HTTP API"), (8501, "HTTPS API"), (8502, "gRPC API"), (8600, "DNS")];

/// The port that is closed by default: an app may use it.
const ON_REQUEST: u64 = 8501;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-client-ports",
    summary: "no container maps the ports of the client agent",
    severity: Severity::Warning,
    applies: Applies::ConsulClient,
    is_fixable: true,
    effect: "load balancers and service discovery expose the agent's API, with the permissions of its token, like a port of the app; an app cannot open such a port",
    explanation: "\
The task's Consul agent serves its own task, at 127.0.0.1: Envoy gets its configuration and mesh-init registers the \
service there. From outside, only the gossip of other agents reaches it, which needs no port mapping with the network \
mode `awsvpc`. Load balancers, service discovery and security groups are often configured from the port mappings. All \
containers of the task share one network interface, so that an app cannot listen on these ports either.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/install/ports",
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-networking-awsvpc.html",
    ],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-client].portMappings",
        fails: Some(r#"[{ "containerPort": 8500, "protocol": "tcp" }]"#),
        repaired: Some("[]"),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
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
