//! The service in the configuration: its name, tenancy and port.

use std::ops::RangeInclusive;

use super::prelude::*;
use crate::subject::workloads;
use audit_read::definition::PortMapping;
use mesh::names::ServiceName;

pub(super) static CONSUL_SERVICE_NAME: Rule =
    Rule::once_per_task(page!("consul-service-name"), Applies::Consul, check_service_name);

fn check_service_name(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let Maybe::Known(name) = consul.configured_name() else { return None };
    if name.parse::<ServiceName>().is_ok() {
        return None;
    }
    let path = if consul.is_gateway { "gateway.name" } else { "service.name" };
    let message = format!("{path} is {name:?}, which is not a valid name for a service identity");
    let help = "use lower-case letters, digits, - and _, at most 256, with a letter or digit at both ends";
    Some(Draft::new(consul.configuration.place_of(path).span, message, help))
}

pub(super) static CONSUL_SERVICE_PORT: Rule =
    Rule::of_task(page!("consul-service-port"), Applies::Consul, check_service_port);

fn check_service_port(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.is_service()) else { return };
    let place = consul.configuration.place_of("service.port");
    if let Some(draft) = port_of_the_proxy(consul) {
        findings.add(draft);
        return;
    }
    let mut listeners =
        workloads(&consul.apps).into_iter().flat_map(|app| tcp_ports(app).map(move |ports| (app, ports)));
    let Some((app, ports)) = listeners.next() else { return };
    let port = *ports.start();
    match consul.configuration.number("service.port", port) {
        Some(0) => {
            let message = format!("the service's port is 0, but {} listens on {}", app.label(), shown(&ports));
            let one_of = if is_single(&ports) { "" } else { "one of " };
            let help = format!(
                "set service.port to {one_of}{}, or remove the port mapping if the app only sends requests",
                shown(&ports)
            );
            findings.add(Draft::new(place.span, message, help));
        }
        // Other rules report invalid ports and the ports of the mesh's containers.
        Some(wanted) if !may_be_apps(consul, wanted) || !may_be_apps(consul, port) => {}
        Some(wanted)
            if are_ports_known(consul)
                && !consul.apps.iter().flat_map(|app| tcp_ports(app)).any(|mapped| mapped.contains(&wanted)) =>
        {
            // With several mapped ports, none may be the service's: the app may serve the mesh at 127.0.0.1 only.
            if is_single(&ports) && listeners.all(|(_, other)| other == ports) {
                let message = format!("the service's port is {wanted}, but {} listens on {port}", app.label());
                let help = format!(
                    "set service.port to {port}. If the app really listens on {wanted}, change its containerPort to {wanted}"
                );
                findings.add(Draft::new(place.span, message, help).of(app).note(app.span(), "listens there"));
            }
        }
        Some(_) | None => {}
    }
}

/// The port of the service is one on which the proxy listens, and no app maps it: Envoy would connect to itself.
fn port_of_the_proxy(consul: &ConsulTask<'_>) -> Option<Draft> {
    let port = consul.configuration.number("service.port", 0).filter(|port| *port != 0)?;
    let listeners = [
        (consul.public_port(), "the proxy's public listener"),
        (consul.readiness_port().filter(|_| consul.generation != Generation::Client), "the proxy's readiness check"),
    ];
    let (_, user) = listeners.into_iter().find(|(own, _)| *own == Some(port))?;
    // Another rule reports apps with a port of the proxy.
    if consul
        .apps
        .iter()
        .any(|app| app.port_mappings.items.iter().any(|it| it.ports().is_some_and(|ports| ports.contains(&port))))
    {
        return None;
    }
    let message = format!("the service's port is {port}, the port of {user}");
    Some(Draft::new(consul.configuration.place_of("service.port").span, message, "write the port of the app"))
}

/// The TCP ports that a container certainly maps, by mapping.
pub(super) fn tcp_ports(app: &Container) -> impl Iterator<Item = RangeInclusive<u64>> {
    app.port_mappings.items.iter().filter_map(PortMapping::tcp_ports)
}

pub(super) fn is_single(ports: &RangeInclusive<u64>) -> bool {
    ports.start() == ports.end()
}

/// `9090` or, for several ports, `8000-8010`.
pub(super) fn shown(ports: &RangeInclusive<u64>) -> String {
    if is_single(ports) { ports.start().to_string() } else { format!("{}-{}", ports.start(), ports.end()) }
}

/// Whether all port mappings of a container are known.
pub(super) fn has_known_ports(app: &Container) -> bool {
    let mappings = &app.port_mappings;
    let is_known = |mapping: &PortMapping| mapping.ports().is_some() && !mapping.protocol.is_unknown();
    mappings.is_complete && mappings.items.iter().all(is_known)
}

fn are_ports_known(consul: &ConsulTask<'_>) -> bool {
    consul.is_complete && consul.apps.iter().all(|app| has_known_ports(app))
}

/// Whether it is a valid port, and not one of the mesh's containers.
fn may_be_apps(consul: &ConsulTask<'_>, port: u64) -> bool {
    let is_agents = consul.client.is_some() && matches!(port, 8300..=8302 | 8500..=8502 | 8600);
    u16::try_from(port).is_ok() && !is_agents && consul.own_ports().iter().all(|(own, _)| *own != port)
}

pub(super) static CONSUL_TENANCY_PAIR: Rule =
    Rule::once_per_task(page!("consul-tenancy-pair"), Applies::Consul, check_tenancy_pair);

fn check_tenancy_pair(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let configuration = &consul.configuration;
    let section = if consul.is_gateway { "gateway" } else { "service" };
    let (partition, namespace) = (format!("{section}.partition"), format!("{section}.namespace"));
    let (there, missing) = match (configuration.name_at(&partition), configuration.name_at(&namespace)) {
        (Maybe::Known(_), Maybe::Absent) => (partition, namespace),
        (Maybe::Absent, Maybe::Known(_)) => (namespace, partition),
        _ => return None,
    };
    let message = format!("{there} is set, but {missing} is not");
    let help = format!("set {missing} as well, or neither");
    Some(Draft::new(configuration.place_of(&there).span, message, help))
}
