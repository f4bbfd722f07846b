//! How the app's traffic to the destination reaches its proxy: an upstream with a local port, or transparent proxy.

use std::collections::BTreeSet;

use audit::spelling::nearest;
use mesh::{arn::TaskId, consul_ecs::ports};
use observe::{ConnectProxy, RegisteredUpstream, ServiceAt};

use super::{
    evidence::{MESH_READ, PathEvidence, SERVICE_READ, named, not_read, read_entry},
    proxy_output,
    report::{PathLine, Place},
    source_tasks::counted_proxies,
};

const PLACE: Place = Place::WayOut;
/// The first port that is proposed for a new upstream, as in Consul's examples.
const FIRST_PORT: u16 = 1234;
/// Where an upstream listens unless it says so.
const LOOPBACK: &str = "127.0.0.1";

pub(super) fn judge(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let proxies = match &evidence.source.proxies {
        Ok(proxies) => proxies.iter().filter(|proxy| is_asked(proxy, evidence.from_task)).collect(),
        Err(error) => return with_output(evidence, not_read(PLACE, error, SERVICE_READ)),
    };
    let way = Ways { evidence, proxies };
    if way.proxies.is_empty() {
        let none = || PathLine::not_needed(PLACE, "no proxy is registered, so nothing listens for the app");
        return with_output(evidence, by_routes(evidence).unwrap_or_else(none));
    }
    if evidence.is_nowhere() && way.proxies.iter().all(|proxy| way.upstream(proxy).is_none()) {
        return with_output(evidence, PathLine::not_needed(PLACE, "there is no service of this name to reach"));
    }
    let line = way
        .port_taken_twice()
        .or_else(|| way.none())
        .or_else(|| way.transparent_on_fargate())
        .or_else(|| way.port_of_container())
        .unwrap_or_else(|| way.ok());
    with_output(evidence, line)
}

/// The line about the registration, and what the proxy says of itself.
fn with_output(evidence: &PathEvidence<'_>, line: PathLine) -> Vec<PathLine> {
    [line].into_iter().chain(proxy_output::way_out(evidence)).collect()
}

/// An API gateway has no upstreams: its routes lead to services.
fn by_routes(evidence: &PathEvidence<'_>) -> Option<PathLine> {
    let (gateway, wanted) = (&evidence.source.service.name, &evidence.destination.service.name);
    let routes = match evidence.source.routes.as_ref()? {
        Ok(routes) if routes.is_empty() => return None,
        Ok(routes) => routes,
        Err(error) => return Some(not_read(PLACE, error, MESH_READ)),
    };
    let leading = routes.iter().find(|route| route.services().any(|service| service == wanted));
    Some(match leading {
        Some(route) => {
            PathLine::ok(PLACE, format!("the {} {} of gateway {gateway} leads to {wanted}", route.kind, route.name))
        }
        None => PathLine::fault(PLACE, format!("no route of gateway {gateway} leads to {wanted}"))
            .changed_by(format!("Add {wanted} to an http-route or a tcp-route with the parent {gateway}"))
            .with_commands(routes.iter().map(|route| read_entry(&route.kind, &route.name))),
    })
}

/// Whether the question is about calls through a proxy.
pub(super) fn is_asked(proxy: &ConnectProxy, wanted: Option<&TaskId>) -> bool {
    wanted.is_none() || proxy.task.as_ref() == wanted
}

struct Ways<'a> {
    evidence: &'a PathEvidence<'a>,
    proxies: Vec<&'a ConnectProxy>,
}

impl<'a> Ways<'a> {
    fn destination(&self) -> &'a ServiceAt {
        &self.evidence.destination.service
    }

    fn upstream(&self, proxy: &'a ConnectProxy) -> Option<&'a RegisteredUpstream> {
        let (destination, source) = (self.destination(), &self.evidence.source.service);
        proxy.upstreams.iter().find(|upstream| destination.is_destination_of(upstream, source))
    }

    /// A proxy that has neither an upstream for the destination nor the app's whole traffic.
    fn none(&self) -> Option<PathLine> {
        let is_without = |proxy: &&&ConnectProxy| self.upstream(proxy).is_none() && !proxy.is_transparent;
        let without: Vec<&&ConnectProxy> = self.proxies.iter().filter(is_without).collect();
        let first = without.first()?;
        let which = match (without.len(), self.proxies.len()) {
            (1, 1) => format!("the proxy {}", first.id),
            (some, all) if some == all => format!("none of {}", counted_proxies(all)),
            (some, all) => format!("{some} of {}, such as {},", counted_proxies(all), first.id),
        };
        let has = if without.len() > 1 && without.len() == self.proxies.len() { "has an" } else { "has no" };
        let wanted = named(self.destination());
        let what = format!("{which} {has} upstream {wanted}, and transparent proxy is off");
        let line = |what: String| PathLine::fault(PLACE, what);
        Some(match self.near_miss(first) {
            Some((upstream, difference)) => line(format!("{what}; its upstream {upstream} {difference}")).changed_by(
                format!("Correct the upstream {upstream} in CONSUL_ECS_CONFIG_JSON{}", self.in_definition(first)),
            ),
            None if self.is_defined(first) => line(format!("{what}, although its definition has it"))
                .changed_by("Replace the task: mesh-init registers the proxy when a task starts"),
            None => line(what).changed_by(format!(
                "Add {} to proxy.upstreams in CONSUL_ECS_CONFIG_JSON{}",
                self.new_upstream(first),
                self.in_definition(first)
            )),
        })
    }

    /// Whether the definition of a proxy's task has the upstream that its registration lacks.
    fn is_defined(&self, proxy: &ConnectProxy) -> bool {
        let registrations = self.evidence.member_of(proxy).and_then(|member| member.expected().ok());
        let proxies = registrations.iter().flatten().filter_map(|registration| registration.proxy.as_ref());
        let mut names = proxies.flat_map(|proxy| &proxy.upstreams).map(|upstream| &upstream.destination_name);
        names.any(|name| *name == self.destination().name)
    }

    /// An upstream that may be meant, and how it differs.
    fn near_miss(&self, proxy: &'a ConnectProxy) -> Option<(&'a str, String)> {
        let wanted = self.destination();
        let names = || proxy.upstreams.iter().map(|upstream| upstream.destination_name.as_str());
        let same = proxy.upstreams.iter().find(|upstream| upstream.destination_name == wanted.name);
        if let Some(upstream) = same {
            return Some((&upstream.destination_name, format!("leads elsewhere: {}", place(upstream))));
        }
        nearest(&wanted.name, names()).map(|name| (name, "has another name".to_owned()))
    }

    fn new_upstream(&self, proxy: &ConnectProxy) -> String {
        let taken: BTreeSet<u16> = proxy.upstreams.iter().map(|upstream| upstream.local_bind_port).collect();
        let port = (FIRST_PORT..=u16::MAX).find(|port| !taken.contains(port)).unwrap_or(FIRST_PORT);
        let ServiceAt { name, datacenter, peer, .. } = self.destination();
        let further = [("datacenter", datacenter), ("destinationPeer", peer)];
        let further = further.into_iter().filter_map(|(field, name)| Some((field, name.as_ref()?)));
        let further: Vec<String> = further.map(|(field, name)| format!(r#","{field}":"{name}""#)).collect();
        let further = further.concat();
        format!(r#"{{"destinationName":"{name}","localBindPort":{port}{further}}}"#)
    }

    /// The revision of a proxy's task, as the end of a sentence.
    fn in_definition(&self, proxy: &ConnectProxy) -> String {
        let revision = self.evidence.member_of(proxy).map(|member| member.definition.arn.short_name());
        let of = revision.map(|revision| format!(" of task definition {revision}")).unwrap_or_default();
        format!("{of} and deploy it")
    }

    /// Two upstreams of a proxy that listen on one port: Envoy gets only one of them to work.
    fn port_taken_twice(&self) -> Option<PathLine> {
        self.proxies.iter().find_map(|proxy| {
            let own = self.upstream(proxy).filter(|own| own.local_bind_port != 0)?;
            let is_same = |other: &&RegisteredUpstream| {
                other.local_bind_port == own.local_bind_port && address(other) == address(own) && *other != own
            };
            let other = proxy.upstreams.iter().find(is_same)?;
            let what = format!(
                "the upstreams {} and {} of proxy {} both listen on {}:{}",
                own.destination_name,
                other.destination_name,
                proxy.id,
                address(own),
                own.local_bind_port
            );
            let change = format!(
                "Give one of them another localBindPort in CONSUL_ECS_CONFIG_JSON{}",
                self.in_definition(proxy)
            );
            Some(PathLine::fault(PLACE, what).changed_by(change))
        })
    }

    /// A listener of the upstream on a port that something else in the task listens on: the proxy itself, or a container, if it does
    /// on what its port mappings say.
    fn port_of_container(&self) -> Option<PathLine> {
        self.proxies.iter().find_map(|proxy| {
            let own = self.upstream(proxy)?;
            let (port, listens) = (own.local_bind_port, format!("{}:{}", address(own), own.local_bind_port));
            let line = |line: PathLine| {
                let change =
                    format!("Give it another localBindPort in CONSUL_ECS_CONFIG_JSON{}", self.in_definition(proxy));
                line.changed_by(change)
            };
            if [proxy.port, ports::ENVOY_ADMIN, ports::READINESS].contains(&port) {
                let what = format!(
                    "the upstream {} of proxy {} listens on {listens}, which the proxy needs itself",
                    own.destination_name, proxy.id
                );
                return Some(line(PathLine::fault(PLACE, what)));
            }
            let containers = self.evidence.member_of(proxy).map(|member| member.definition.containers.as_slice());
            let container = containers.unwrap_or_default().iter().find(|container| container.ports.contains(&port))?;
            let what = format!(
                "the upstream {} of proxy {} listens on {listens}, and container {} has a port mapping for {port}",
                own.destination_name, proxy.id, container.name
            );
            Some(line(PathLine::possible(PLACE, what)))
        })
    }

    /// Fargate does not let a task redirect traffic: <https://developer.hashicorp.com/consul/docs/ecs/requirements>
    fn transparent_on_fargate(&self) -> Option<PathLine> {
        let is_on_fargate = |proxy: &ConnectProxy| {
            self.evidence.member_of(proxy).is_some_and(|member| member.task.placement.is_on_fargate)
        };
        let relies = |proxy: &&&ConnectProxy| proxy.is_transparent && self.upstream(proxy).is_none();
        let proxy = self.proxies.iter().filter(relies).find(|proxy| is_on_fargate(proxy))?;
        let what = format!("the proxy {} relies on transparent proxy, which Fargate does not support", proxy.id);
        let change = format!(
            r#"Set "transparentProxy":{{"enabled":false}} and add {} to proxy.upstreams in CONSUL_ECS_CONFIG_JSON{}"#,
            self.new_upstream(proxy),
            self.in_definition(proxy)
        );
        Some(PathLine::fault(PLACE, what).changed_by(change))
    }

    fn ok(&self) -> PathLine {
        let listens = |upstream: &RegisteredUpstream| format!("{}:{}", address(upstream), upstream.local_bind_port);
        let ways: BTreeSet<String> = self
            .proxies
            .iter()
            .map(|proxy| self.upstream(proxy).map_or_else(|| "transparent proxy".to_owned(), listens))
            .collect();
        let ways: Vec<String> = ways.into_iter().collect();
        PathLine::ok(PLACE, format!("the app reaches its proxy by {}", ways.join(" or ")))
    }
}

/// Where an upstream listens.
pub(super) fn address(upstream: &RegisteredUpstream) -> &str {
    if upstream.local_bind_address.is_empty() { LOOPBACK } else { &upstream.local_bind_address }
}

/// Where an upstream leads, in words.
fn place(upstream: &RegisteredUpstream) -> String {
    let parts = [
        ("peer", &upstream.destination_peer),
        ("partition", &upstream.destination_partition),
        ("namespace", &upstream.destination_namespace),
        ("datacenter", &upstream.datacenter),
    ];
    let named = parts.iter().filter(|(_, name)| !name.is_empty()).map(|(kind, name)| format!("{kind} {name}"));
    let named: Vec<String> = named.collect();
    match (named.is_empty(), upstream.is_of_service()) {
        (_, false) => "it is a prepared query".to_owned(),
        (true, true) => "the proxy's own datacenter and namespace".to_owned(),
        (false, true) => named.join(", "),
    }
}
