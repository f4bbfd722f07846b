//! The service in the configuration: its name, tenancy and port.

use std::ops::RangeInclusive;

use super::prelude::*;
use crate::subject::workloads;
use audit_read::definition::PortMapping;
use mesh::names::ServiceName;

pub(super) static CONSUL_SERVICE_NAME: Rule = Rule {
    id: "consul-service-name",
    summary: "the service's or gateway's name is valid for a service identity",
    effect: "consul-ecs refuses the configuration, or Consul refuses the token's service identity",
    explanation: "\
A task gets its token through a service identity. Consul accepts only names of lower-case letters, digits, `-` and \
`_`, at most 256 characters long, with a letter or digit at both ends. From 0.5 on, consul-ecs itself refuses any \
other name. Without a name in the configuration, it uses the task's family in lower case.",
    sources: &[pages::CONSUL_CONFIGURATION, "https://developer.hashicorp.com/consul/api-docs/acl/tokens"],
    example: Some(Base::Dataplane.wrong("config.service.name", r#""web.api""#)),
    ..Rule::once_per_task(Applies::Consul, check_service_name)
};

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

pub(super) static CONSUL_SERVICE_PORT: Rule = Rule {
    id: "consul-service-port",
    summary: "a service that listens has its port in the configuration",
    severity: Severity::Warning,
    effect: "the proxy has no port for incoming requests, and all of them fail",
    explanation: "\
The proxy forwards requests to the app on `service.port`. Port 0 means that the app sends requests but gets none: the \
Terraform module requires `outbound_only = true` for it, which is not visible in the task definition. If an app \
container maps a port, it probably gets requests, and port 0 is probably an oversight. So is a port other than the \
only one that the app maps. Containers that monitor or collect do not count, nor do UDP ports, which the mesh does \
not support.",
    sources: &[pages::CONSUL_CONFIGURATION],
    example: Some(Base::Dataplane.wrong("config.service.port", "0")),
    ..Rule::of_task(Applies::Consul, check_service_port)
};

fn check_service_port(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.is_service()) else { return };
    let place = consul.configuration.place_of("service.port");
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
                let help = format!("set service.port to {port}, or map {wanted} as well");
                findings.add(Draft::new(place.span, message, help).of(app).note(app.span(), "listens there"));
            }
        }
        Some(_) | None => {}
    }
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

pub(super) static CONSUL_TENANCY_PAIR: Rule = Rule {
    id: "consul-tenancy-pair",
    summary: "the configuration names both a partition and a namespace, or neither",
    effect: "the task's token and its registration are in different namespaces or partitions, and Consul refuses the proxy",
    explanation: "\
With Consul Enterprise, a service is in a namespace of an admin partition. The controllers read both from the task's \
tags, or use `default` for both if there are no such tags. The controllers and the Terraform module report an error \
if only one of the two is set. The Community Edition has neither.",
    sources: &[pages::CONSUL_ECS_ENTERPRISE, pages::CONSUL_CONFIGURATION],
    example: Some(Base::Dataplane.wrong("config.service.partition", r#""blue""#)),
    ..Rule::once_per_task(Applies::Consul, check_tenancy_pair)
};

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
