use crate::{
    definition::{Container, PortMapping},
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Subject, workloads},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-service-port",
    summary: "a service that listens has its port in the configuration",
    severity: Severity::Warning,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "the proxy has no port for incoming requests: all of them fail",
    explanation: "\
The proxy forwards requests to the app on `service.port`. Port 0 means that the app sends requests but gets none: the \
Terraform module requires `outbound_only = true` for it, which is not visible in the task definition. If an app \
container maps a port, it probably gets requests, and port 0 is probably an oversight. So is a port other than the \
only one that the app maps. Helpers that monitor or collect do not count, nor do UDP ports, which the mesh does not \
support.",
    sources: &["https://developer.hashicorp.com/consul/docs/reference/ecs"],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "config.service.port",
        fails: Some("0"),
        repaired: Some("9090"),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.is_service()) else { return };
    let place = consul.configuration.place_of("service.port");
    let mut listeners = workloads(&consul.apps).into_iter().flat_map(|app| tcp_ports(app).map(move |port| (app, port)));
    let Some((app, port)) = listeners.next() else { return };
    match consul.configuration.number("service.port", port) {
        Some(0) => {
            let message = format!("the service's port is 0, but {} listens on {port}", app.label());
            let help = format!("set service.port to {port}, or remove the port mapping if the app only sends requests");
            findings.add(Draft::new(place.span, message, help));
        }
        // Invalid ports, and those of the mesh's containers, are reported by other rules.
        Some(wanted) if !may_be_apps(consul, wanted) || !may_be_apps(consul, port) => {}
        Some(wanted)
            if are_ports_known(consul) && !consul.apps.iter().flat_map(|app| tcp_ports(app)).any(|it| it == wanted) =>
        {
            // With several mapped ports, none may be the service's: the app may serve the mesh at 127.0.0.1 only.
            if listeners.all(|(_, other)| other == port) {
                let message = format!("the service's port is {wanted}, but {} listens on {port}", app.label());
                let help = format!("set service.port to {port}, or map {wanted} as well");
                findings.add(Draft::new(place.span, message, help).of(app).note(app.span(), "listens there"));
            }
        }
        Some(_) | None => {}
    }
}

fn tcp_ports(app: &Container) -> impl Iterator<Item = u64> {
    app.port_mappings.items.iter().filter_map(PortMapping::tcp_port)
}

/// Whether all ports of the apps are known.
fn are_ports_known(consul: &ConsulTask<'_>) -> bool {
    let is_known = |mapping: &PortMapping| mapping.container_port.known().is_some() && !mapping.protocol.is_unknown();
    let has_known_ports =
        |app: &&Container| app.port_mappings.is_complete && app.port_mappings.items.iter().all(is_known);
    consul.is_complete && consul.apps.iter().all(has_known_ports)
}

/// Whether it is a valid port, and not one of the mesh's containers.
fn may_be_apps(consul: &ConsulTask<'_>, port: u64) -> bool {
    let is_agents = consul.client.is_some() && matches!(port, 8300..=8302 | 8500..=8502 | 8600);
    u16::try_from(port).is_ok() && !is_agents && consul.own_ports().iter().all(|(own, _)| *own != port)
}
