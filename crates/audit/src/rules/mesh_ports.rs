//! The ports of the mesh's own containers, and apps that use them.

use super::prelude::*;
use crate::subject::ports;
use audit_read::definition::PortMapping;
use document::Span;

pub(super) static CONSUL_READINESS_PORT: Rule =
    Rule::of_task(page!("consul-readiness-port"), Applies::Consul, check_listeners);

/// A port that a configuration gives to a listener of the proxy.
struct Listener {
    port: u64,
    what: String,
    span: Span,
}

fn check_listeners(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let fixed =
        [(ports::ENVOY_ADMIN.into(), "Envoy's administration interface")].into_iter().chain(consul.fixed_ports());
    let fixed: Vec<(u64, &str)> = fixed.collect();
    let mut seen: Vec<Listener> = Vec::new();
    for listener in listeners(consul) {
        let other = seen.iter().find(|earlier| earlier.port == listener.port);
        let user = other.map(|earlier| earlier.what.as_str());
        let user = user.or_else(|| fixed.iter().find(|(port, _)| *port == listener.port).map(|(_, user)| *user));
        if let Some(user) = user {
            let message = format!("{} and {user} both have port {}", listener.what, listener.port);
            let draft = Draft::new(listener.span, message, "use two different ports");
            findings.add(match other {
                Some(earlier) if earlier.span != listener.span => draft.note(earlier.span, "the other listener"),
                _ => draft,
            });
        }
        seen.push(listener);
    }
}

fn listeners(consul: &ConsulTask<'_>) -> Vec<Listener> {
    let configuration = &consul.configuration;
    let at = |port: Option<u64>, path: &str, what: &str| {
        port.map(|port| Listener { port, what: what.to_owned(), span: configuration.place_of(path).span })
    };
    let is_client = consul.generation == Generation::Client;
    let (section, public) =
        if consul.is_gateway { ("gateway", "gateway.lanAddress.port") } else { ("proxy", "proxy.publicListenerPort") };
    let readiness = consul.readiness_port().filter(|_| !is_client);
    let own = [
        at(readiness, &format!("{section}.healthCheckPort"), "the readiness check"),
        at(consul.public_port(), public, "the public listener"),
    ];
    let further = consul.further_listeners().into_iter();
    let further = further.map(|(port, what, span)| Listener { port, what: what.to_owned(), span });
    own.into_iter().flatten().chain(further).collect()
}

pub(super) static CONSUL_APP_PORT: Rule = Rule::of_task(page!("consul-app-port"), Applies::Consul, check_app_port);

fn check_app_port(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.is_service()) else { return };
    for (app, mapping) in mappings(consul) {
        let own = match (mapping.is_tcp(), mapping.is_udp()) {
            (true, _) => consul.own_ports(),
            (_, true) => consul.own_udp_ports(),
            _ => continue,
        };
        if let Some((port, user)) = own.into_iter().find(|(own, _)| covers(mapping, *own)) {
            let message = format!("{} listens on port {port}, which {user} also uses", app.label());
            let help = "let the app listen on another port, or move the mesh's port where the configuration has one";
            findings.add(Draft::new(ports_span(mapping), message, help).of(app));
        }
    }
}

fn mappings<'s, 'd>(
    consul: &'s ConsulTask<'d>,
) -> impl Iterator<Item = (&'d Container, &'d PortMapping)> + use<'s, 'd> {
    consul.apps.iter().flat_map(|app| app.port_mappings.items.iter().map(|mapping| (*app, mapping)))
}

fn covers(mapping: &PortMapping, port: u64) -> bool {
    mapping.ports().is_some_and(|ports| ports.contains(&port))
}

/// The bytes of a port, or of a range of ports.
pub(super) fn ports_span(mapping: &PortMapping) -> Span {
    if mapping.container_port.is_absent() { mapping.container_port_range.span() } else { mapping.container_port.span() }
}

pub(super) static CONSUL_DNS_PORT: Rule =
    Rule::of_task(page!("consul-dns-port"), Applies::ConsulDataplane, check_dns_port);

fn check_dns_port(subject: &Subject<'_>, findings: &mut Findings) {
    let consul = subject.consul.as_ref().filter(|consul| consul.generation == Generation::Dataplane);
    let Some(consul) = consul.filter(|consul| consul.is_transparent() == Some(true)) else { return };
    for (app, mapping) in mappings(consul).filter(|(_, mapping)| mapping.is_udp()) {
        let found = ports::LOCALIZED_DNS.into_iter().find(|port| covers(mapping, (*port).into()));
        if let Some(port) = found {
            let message = format!("{} listens on UDP port {port}, a port of Envoy's DNS", app.label());
            let help = "let the app listen on another port before the feature gate localized-dns is enabled";
            findings.add(Draft::new(ports_span(mapping), message, help).of(app));
        }
    }
}
