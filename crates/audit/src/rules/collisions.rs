//! Ports and variables that are there twice, and volumes that are not there at all.

use std::{
    collections::{HashMap, HashSet},
    ops::RangeInclusive,
};

use super::{mesh_ports::ports_span, prelude::*};
use crate::subject::CREDENTIALS;
use audit_read::definition::{PortMapping, Volume};
use document::Span;

pub(super) static ECS_PORT_TWICE: Rule = Rule::of_task(page!("ecs-port-twice"), Applies::EveryTask, check_port_twice);

/// Ports of one network interface, and the container that maps them.
struct Mapped<'d> {
    container: &'d Container,
    ports: RangeInclusive<u64>,
    is_udp: bool,
    span: Span,
    /// Its number among the mappings of the definition.
    number: usize,
}

fn check_port_twice(subject: &Subject<'_>, findings: &mut Findings) {
    let is_shared = match subject.definition.network_mode.text() {
        Some("awsvpc" | "host") => true,
        Some("bridge") => false,
        _ => return,
    };
    let containers = subject.definition.containers.items.iter();
    let mappings = containers.flat_map(|container| container.port_mappings.items.iter().map(move |it| (container, it)));
    let mapped = mappings.enumerate();
    let mapped = mapped.filter_map(|(number, (container, mapping))| Mapped::of(container, mapping, number, is_shared));
    let mut mapped: Vec<Mapped<'_>> = mapped.collect();
    mapped.sort_by_key(|one| (one.is_udp, *one.ports.start(), one.number));
    let mut widest: Option<&Mapped<'_>> = None;
    for one in &mapped {
        let before = widest.filter(|before| before.is_udp == one.is_udp);
        if let Some(before) = before.filter(|before| before.ports.end() >= one.ports.start()) {
            let is_first = before.number < one.number;
            findings.add(if is_first { before.twice(one) } else { one.twice(before) });
        }
        if before.is_none_or(|before| before.ports.end() <= one.ports.end()) {
            widest = Some(one);
        }
    }
}

/// The ports that a mapping takes of the interface of the task, or of the host.
fn interface_ports(mapping: &PortMapping, is_shared: bool) -> Option<RangeInclusive<u64>> {
    if is_shared { mapping.ports() } else { mapping.host_port.known().map(|port| *port..=*port) }
}

impl<'d> Mapped<'d> {
    fn of(container: &'d Container, mapping: &PortMapping, number: usize, is_shared: bool) -> Option<Self> {
        let ports = interface_ports(mapping, is_shared).filter(|ports| *ports.start() != 0)?;
        let is_udp = mapping.is_udp();
        (is_udp || mapping.is_tcp()).then(|| Self { container, ports, is_udp, span: ports_span(mapping), number })
    }

    fn twice(&self, later: &Self) -> Draft {
        let (label, port) = (later.container.label(), self.ports.start().max(later.ports.start()));
        let is_same = std::ptr::eq(self.container, later.container);
        let message = if is_same {
            format!("{label} maps port {port} twice")
        } else {
            format!("{label} maps port {port}, which {} also maps", self.container.label())
        };
        let severity = if is_same { Severity::Warning } else { Severity::Error };
        let help = if is_same { "remove one of the two" } else { "let one of the two listen on another port" };
        Draft::new(later.span, message, help)
            .of(later.container)
            .severity(severity)
            .note(self.span, "the other mapping")
    }
}

pub(super) static ECS_VARIABLE_TWICE: Rule =
    Rule::of_task(page!("ecs-variable-twice"), Applies::EveryTask, check_variable_twice);

fn check_variable_twice(subject: &Subject<'_>, findings: &mut Findings) {
    // consul-credential-in-plain reports the credentials of Consul's programs.
    let has_consul = subject.consul.is_some() || subject.controller.is_some();
    let is_reported = |name| has_consul && CREDENTIALS.contains(&name);
    for container in subject.definition.containers.items.iter().filter(|it| !it.secrets.items.is_empty()) {
        let variables = container.environment.items.iter().map(|variable| &variable.name);
        let mut names: HashMap<&str, Span> = variables.filter_map(|name| Some((name.text()?, name.span()))).collect();
        for field in container.secrets.items.iter().map(|secret| &secret.name) {
            let Some(name) = field.text() else { continue };
            let other = names.insert(name, field.span()).filter(|_| !is_reported(name));
            let Some(other) = other else { continue };
            let message = format!("{} has the variable {name} twice, once as a secret", container.label());
            let draft = Draft::new(field.span(), message, "remove one of the two").of(container);
            findings.add(draft.note(other, "the other one"));
        }
    }
}

pub(super) static ECS_VOLUME_UNKNOWN: Rule =
    Rule::of_task(page!("ecs-volume-unknown"), Applies::EveryTask, check_volume_unknown);

fn check_volume_unknown(subject: &Subject<'_>, findings: &mut Findings) {
    let volumes = &subject.definition.volumes;
    // A definition may have thousands of both: only names with unknown parts are compared one by one.
    let names: HashSet<&str> = volumes.items.iter().filter_map(|volume| volume.name.text()).collect();
    let open: Vec<&Volume> = volumes.items.iter().filter(|volume| volume.name.text().is_none()).collect();
    let may_have =
        |name: &str| !volumes.is_complete || names.contains(name) || open.iter().any(|volume| volume.name.may_be(name));
    for container in &subject.definition.containers.items {
        // The volumes of the mesh have a rule of their own.
        if container.mount_points.items.is_empty() || subject.is_of_the_mesh(container) {
            continue;
        }
        for mount in &container.mount_points.items {
            let Some(name) = mount.source_volume.text() else { continue };
            let is_mesh_s = || subject.consul.as_ref().is_some_and(|consul| consul.mounts(name));
            if !may_have(name) && !is_mesh_s() {
                let message = format!("{} mounts the volume {name}, which the task does not have", container.label());
                let help = format!("add {{ \"name\": \"{name}\" }} to volumes, or mount another one");
                findings.add(Draft::new(mount.source_volume.span(), message, help).of(container));
            }
        }
    }
}
