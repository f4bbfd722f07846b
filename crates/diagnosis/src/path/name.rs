//! What the name of the destination means to the proxy: routers, splitters and resolvers of the compiled discovery chain.

use audit::spelling::nearest;
use observe::{Answer, CallError, ConnectProxy, ConsulError, InspectionError};

use super::{
    chain::{Leg, Taken},
    evidence::{PathEvidence, SERVICE_READ, named, not_read, read_entry},
    report::{PathLine, Place},
    timeouts,
};

const PLACE: Place = Place::Name;
/// The protocol of a service unless a config entry says otherwise.
const TCP: &str = "tcp";
/// What Consul says of a chain whose services have several protocols, or one that its routers and splitters cannot have.
const CONTRADICTIONS: [&str; 2] = ["uses inconsistent protocols", "does not permit advanced routing"];

pub(super) fn judge(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let chain = match &evidence.destination.chain {
        Ok(chain) => chain,
        Err(error) => {
            let line = contradiction(evidence, error).unwrap_or_else(|| not_read(PLACE, error, SERVICE_READ));
            return vec![line];
        }
    };
    if let Some(peer) = &evidence.destination.service.peer {
        return vec![PathLine::not_needed(PLACE, format!("the routers and resolvers of peer {peer} decide there"))];
    }
    let mut legs = evidence.legs();
    legs.retain(|leg| !leg.is_failover());
    let lines: Vec<PathLine> = legs.iter().filter_map(|leg| of_leg(evidence, leg)).collect();
    if !lines.is_empty() {
        return lines;
    }
    let is_http = is_http(&chain.protocol);
    let means: Vec<String> = legs.iter().map(|leg| meaning(evidence, leg, is_http)).collect();
    let asked =
        if evidence.request.is_some() && !is_http { ". No route or permission for requests applies" } else { "" };
    let what = format!("{} ({}) means {}{asked}", chain.service_name, chain.protocol, means.join("; "));
    let differing = [protocol_of_upstream(evidence), legs.iter().find_map(|leg| protocol_of_proxies(evidence, leg))];
    [PathLine::ok(PLACE, what)].into_iter().chain(differing.into_iter().flatten()).collect()
}

/// A chain that Consul does not compile. It refuses to write such entries, but an older release, or a change of `proxy-defaults`, may
/// leave them.
fn contradiction(evidence: &PathEvidence<'_>, error: &InspectionError) -> Option<PathLine> {
    let InspectionError::Call(CallError::Consul(ConsulError::Refused { reason, .. })) = error else { return None };
    let is_it = CONTRADICTIONS.iter().any(|part| reason.contains(part));
    let change = "Give all services of the chain one protocol, and with a router or a splitter http, http2 or grpc";
    let read = read_entry("service-defaults", &evidence.destination.service.name);
    is_it.then(|| PathLine::fault(PLACE, reason.as_str()).changed_by(change).with_command(read))
}

/// An upstream that is not HTTP, although its service is: Consul compiles its chain without routers and splitters.
fn protocol_of_upstream(evidence: &PathEvidence<'_>) -> Option<PathLine> {
    let service = &evidence.destination.service;
    let of_upstream = evidence.source.upstreams_to(service).find_map(|upstream| upstream.overrides().protocol)?;
    let of_entry = evidence.destination.limits.as_ref().ok()?.as_ref().and_then(|entry| entry.protocol.as_deref());
    let of_all = evidence.mesh.proxy_defaults.as_ref().ok()?.as_ref().and_then(|entry| entry.protocol());
    let own = of_entry.filter(|protocol| !protocol.is_empty()).or(of_all).unwrap_or(TCP);
    let what = format!(
        "the upstream {} has the protocol {of_upstream}, and its service {own}: routers and splitters do not apply",
        service.name
    );
    let line = || PathLine::possible(PLACE, what).with_command(read_entry("service-defaults", &service.name));
    (is_http(own) && !is_http(&of_upstream)).then(line)
}

/// Proxies that were registered with another protocol than callers use.
fn protocol_of_proxies(evidence: &PathEvidence<'_>, leg: &Leg<'_>) -> Option<PathLine> {
    let called = &evidence.destination.chain.as_ref().ok()?.protocol;
    let service = evidence.service_of(leg.target);
    let own = evidence.registered_protocol(leg).filter(|own| own != called)?;
    let what =
        format!("the proxies of {} were registered with the protocol {own}, and callers use {called}", named(&service));
    let change = format!("Set Protocol in the service-defaults of {}, and leave it out of proxy.config", service.name);
    Some(PathLine::possible(PLACE, what).changed_by(change).with_command(read_entry("service-defaults", &service.name)))
}

impl PathEvidence<'_> {
    /// The protocol that the proxies of a target were registered with. It replaces the protocol of the config entries.
    pub(super) fn registered_protocol(&self, leg: &Leg<'_>) -> Option<&str> {
        let proxies = self.destination.proxies.get(leg.id)?.as_deref().ok()?;
        proxies.iter().find_map(|proxy| proxy.protocol.as_deref())
    }
}

/// Whether a proxy looks into the requests of this protocol.
pub(crate) fn is_http(protocol: &str) -> bool {
    ["http", "http2", "grpc"].contains(&protocol)
}

/// A leg that leads anywhere, in words.
fn meaning(evidence: &PathEvidence<'_>, leg: &Leg<'_>, is_http: bool) -> String {
    let by = if leg.by.is_empty() { String::new() } else { format!("{}: ", leg.by) };
    let target = of_target(evidence, leg);
    let failover = match leg.resolver.failover() {
        [] => String::new(),
        targets => format!(", with failover to {}", targets.join(", ")),
    };
    let timeout = leg.timeout().unwrap_or(timeouts::DEFAULT);
    let timeout = if is_http { format!(", an answer within {timeout}") } else { String::new() };
    format!("{by}{target}{failover}{timeout}")
}

/// The target of a leg, in words.
fn of_target(evidence: &PathEvidence<'_>, leg: &Leg<'_>) -> String {
    let service = named(&evidence.service_of(leg.target));
    match leg.target.service_subset.as_str() {
        "" => service,
        subset => format!("subset {subset} of {service}"),
    }
}

/// What is wrong with a leg.
fn of_leg(evidence: &PathEvidence<'_>, leg: &Leg<'_>) -> Option<PathLine> {
    let proxies = evidence.destination.proxies.get(leg.id)?;
    let lead = if leg.by.is_empty() { String::new() } else { format!("{} go to ", leg.by) };
    let target = of_target(evidence, leg);
    match proxies {
        Err(error) if is_unknown_datacenter(error) => {
            let what = format!("{lead}{target}: Consul has no route to datacenter {}", leg.target.datacenter);
            Some(line(leg, what).changed_by("Correct the datacenter").with_command("consul catalog datacenters"))
        }
        Err(error) => Some(not_read(PLACE, error, SERVICE_READ)),
        Ok(proxies) if !proxies.is_empty() => lost_failover(evidence, leg),
        Ok(_) if takes_over(evidence, leg) => None,
        Ok(_) => missing(evidence, leg, &format!("{lead}{target}")),
    }
}

/// Whether another target takes the requests while the first one has no proxy that passes.
pub(super) fn takes_over(evidence: &PathEvidence<'_>, leg: &Leg<'_>) -> bool {
    let passes = |proxies: &Answer<Vec<ConnectProxy>>| {
        proxies.as_ref().is_ok_and(|proxies| proxies.iter().any(ConnectProxy::is_passing))
    };
    leg.resolver.failover().iter().filter_map(|id| evidence.destination.proxies.get(id)).any(passes)
}

/// A fault, if requests surely go there.
fn line(leg: &Leg<'_>, what: String) -> PathLine {
    match leg.taken {
        Taken::Surely => PathLine::fault(PLACE, what),
        Taken::Perhaps => PathLine::possible(PLACE, what),
    }
}

/// A target without a proxy.
fn missing(evidence: &PathEvidence<'_>, leg: &Leg<'_>, target: &str) -> Option<PathLine> {
    let (asked, service) = (&evidence.destination.service, evidence.service_of(leg.target));
    let read = |kind: &str| read_entry(kind, &asked.name);
    if !leg.target.service_subset.is_empty() {
        let filter = &leg.target.subset.filter;
        let what = format!("{target}, which has no instance: none fulfils {filter}");
        let change = "Give instances what the filter asks for, or correct the subset in the service-resolver";
        return Some(line(leg, what).changed_by(change).with_command(read("service-resolver")));
    }
    // Tasks that are not registered: the place of the destination's tasks says why.
    if evidence.members_of(&service).next().is_some() {
        return None;
    }
    let names = evidence.destination.names.iter().flatten().flatten().map(String::as_str);
    if names.clone().any(|name| name == service.name) {
        let what =
            format!("{target}, which is in the catalog without a proxy, and no terminating gateway takes its requests");
        let change =
            format!("Start {} with a proxy, or add it to the config entry of a terminating gateway", service.name);
        return Some(line(leg, what).changed_by(change).with_command("consul config list -kind terminating-gateway"));
    }
    let known = nearest(&service.name, names).map(|near| format!(". Consul has a service {near}")).unwrap_or_default();
    let in_ecs = if evidence.is_all_read() { "ECS runs no task of it" } else { "not all tasks in ECS could be read" };
    let what = format!("{target}: Consul has no proxy of it, and {in_ecs}{known}");
    let is_asked = service.name == asked.name && leg.by.is_empty();
    Some(match (is_asked, leg.by.is_empty()) {
        (true, _) => {
            line(leg, format!("the name leads to {what}")).changed_by("Correct the name, or start the service")
        }
        (false, true) => line(leg, format!("the service-resolver redirects to {what}"))
            .changed_by("Correct the redirect, or start that service")
            .with_command(read("service-resolver")),
        (false, false) => line(leg, what)
            .changed_by("Correct the router or the splitter, or start that service")
            .with_command(read(if leg.by.contains('%') { "service-splitter" } else { "service-router" })),
    })
}

/// A failover that would not help, because its targets have no proxy.
fn lost_failover(evidence: &PathEvidence<'_>, leg: &Leg<'_>) -> Option<PathLine> {
    let is_lost = |id: &&String| match evidence.destination.proxies.get(*id) {
        Some(Ok(proxies)) => proxies.is_empty(),
        Some(Err(error)) => is_unknown_datacenter(error),
        None => false,
    };
    let lost = leg.resolver.failover().iter().find(is_lost)?;
    let what = format!("failover of {} to {lost} would fail: Consul has no proxy there", of_target(evidence, leg));
    Some(PathLine::possible(PLACE, what))
}

fn is_unknown_datacenter(error: &InspectionError) -> bool {
    let InspectionError::Call(CallError::Consul(ConsulError::Refused { reason, .. })) = error else { return false };
    reason.contains("No path to datacenter")
}
