//! What a proxy says of itself, where no API of Consul tells it: its listeners, the instances that it knows, and its certificates.

use mesh::consul_ecs::ports;
use observe::{Endpoint, HeldCertificate, Listener, ProxyOutput};

use super::{
    chain::Leg,
    evidence::{PathEvidence, named},
    report::{PathLine, Place, PlaceVerdict},
    way_out::address,
};

/// The option that reads what the printed command has saved.
const OPTION: &str = "--proxy-output";
/// The file that the printed commands name.
const FILE: &str = "proxy.txt";
/// The cluster in which a proxy has its own app.
const APP: &str = "local_app";
/// The listener for requests of the app, with transparent proxy.
const OUTBOUND: &str = "outbound_listener";
/// The listener for requests of other proxies.
const PUBLIC: &str = "public_listener";

/// Whose proxy it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Source,
    Destination,
}

impl<'a> PathEvidence<'a> {
    /// What a proxy of this end says.
    fn output_of(&self, end: End) -> Option<&'a ProxyOutput> {
        self.proxy_output.filter(|output| self.end_of(output) == Some(end))
    }

    /// A proxy that does not say whose it is counts as the caller's.
    fn end_of(&self, output: &ProxyOutput) -> Option<End> {
        let Some(service) = &output.service else { return Some(End::Source) };
        let is_called = || self.targets().iter().any(|leg| leg.target.service == *service);
        if *service == self.source.service.name {
            return Some(End::Source);
        }
        is_called().then_some(End::Destination)
    }

    /// The command that asks a proxy of the caller, and the one that reads the answers.
    fn ask_proxy(&self) -> Vec<String> {
        let admin = |path: &str| format!("http://127.0.0.1:{}/{path}", ports::ENVOY_ADMIN);
        let urls = ["certs", "clusters", "config_dump"].map(admin).join(" ");
        let Some(ask) = self.in_source_task(&format!("curl -s {urls}")) else { return Vec::new() };
        let (source, destination) = (&self.source.service.name, &self.destination.service.name);
        vec![format!("{ask} > {FILE}"), format!("ecs-mesh path {source} {destination} {OPTION} {FILE}")]
    }
}

/// Whether the proxy listens for the app, and what it rejected.
pub(super) fn listener(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let Some(output) = evidence.output_of(End::Source) else { return Vec::new() };
    let Some(listeners) = &output.listeners else { return Vec::new() };
    let upstream = evidence.source.upstreams_to(&evidence.destination.service).next();
    let wanted = upstream.map(|upstream| format!("{}:{}", address(upstream), upstream.local_bind_port));
    let is_own = |name: &str| match &wanted {
        Some(wanted) => name.ends_with(&format!(":{wanted}")),
        None => name.starts_with(OUTBOUND),
    };
    let listens = wanted.as_deref().unwrap_or(OUTBOUND);
    let mut lines = rejections(evidence, output, &is_own);
    if lines.iter().any(|line| line.verdict == PlaceVerdict::Fault) {
        return lines;
    }
    let own: Vec<&Listener> = listeners.iter().filter(|listener| is_own(&listener.name)).collect();
    let change = "Compare the registration with the definition, and replace the task if the proxy stays so";
    lines.push(match own.as_slice() {
        [] => PathLine::fault(Place::WayOut, format!("the proxy itself has no listener {listens}")).changed_by(change),
        listeners if listeners.iter().any(|listener| listener.is_active) => {
            PathLine::ok(Place::WayOut, format!("the proxy itself listens: {listens}"))
        }
        _ => {
            let what = format!("the listener {listens} of the proxy waits for routes, clusters or certificates");
            PathLine::fault(Place::WayOut, what).changed_by(change)
        }
    });
    lines
}

/// What the proxy rejected: a fault if requests need it.
fn rejections(evidence: &PathEvidence<'_>, output: &ProxyOutput, is_own: &dyn Fn(&str) -> bool) -> Vec<PathLine> {
    let legs = evidence.targets();
    let line = |rejection: &observe::Rejection| {
        let what = format!("the proxy rejected {}: {}", rejection.name, rejection.reason);
        let is_needed = is_own(&rejection.name) || legs.iter().any(|leg| is_cluster_of(&rejection.name, leg));
        if is_needed {
            let change =
                "Correct the config entry that it comes from, or use an Envoy that the release of Consul supports";
            PathLine::fault(Place::WayOut, what).changed_by(change)
        } else {
            PathLine::possible(Place::WayOut, what)
        }
    };
    output.rejections.iter().map(line).collect()
}

/// Whether a cluster of Envoy is of a target. A prefix up to `~` says that an upstream changed it, or that it is a failover.
fn is_cluster_of(cluster: &str, leg: &Leg<'_>) -> bool {
    let name = cluster.rsplit('~').next().unwrap_or(cluster);
    match leg.target.sni.as_str() {
        "" => name.starts_with(&format!("{}.", leg.target.service)),
        sni => name == sni,
    }
}

/// The instances that the proxy of the caller knows, and the app that the proxy of the destination reaches.
pub(super) fn instances(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    if let Some(output) = evidence.output_of(End::Destination) {
        return of_app(output).into_iter().chain(public_listener(output)).collect();
    }
    let Some(output) = evidence.output_of(End::Source) else { return Vec::new() };
    let Some(clusters) = &output.clusters else { return Vec::new() };
    let of_leg = |leg: &Leg<'_>| {
        let service = named(&evidence.service_of(leg.target));
        let fault = |what: String| PathLine::fault(Place::DestinationTasks, what);
        if !clusters.iter().any(|cluster| is_cluster_of(cluster, leg)) {
            return fault(format!("the proxy of the caller has no cluster for {service}"))
                .changed_by("Replace the task if its proxy stays so: it gets no configuration from Consul");
        }
        let known: Vec<&Endpoint> = output.endpoints.iter().filter(|it| is_cluster_of(&it.cluster, leg)).collect();
        of_endpoints(&known, &service)
    };
    evidence.targets().iter().map(of_leg).collect()
}

fn of_endpoints(known: &[&Endpoint], service: &str) -> PathLine {
    let place = Place::DestinationTasks;
    let ejected: Vec<&str> = known.iter().filter(|it| it.is_ejected).map(|it| it.address.as_str()).collect();
    let unreached = known.iter().find(|it| it.connections > 0 && it.connections == it.failed_connections);
    let count = known.len();
    match (count, ejected.len(), unreached) {
        (0, ..) => PathLine::fault(place, format!("the proxy of the caller knows no instance of {service}"))
            .changed_by("Compare with what Consul has. If it has one that passes, replace the task"),
        (all, some, _) if all == some => {
            let what = format!(
                "outlier detection of the caller has ejected every instance of {service}: {}",
                ejected.join(", ")
            );
            PathLine::fault(place, what)
                .changed_by("Correct what makes them fail, or the PassiveHealthCheck of the caller")
        }
        (_, _, Some(endpoint)) => {
            let what = format!(
                "none of {} connections of the caller's proxy to {} of {service} succeeded",
                endpoint.connections, endpoint.address
            );
            PathLine::fault(place, what).changed_by("Let the network through")
        }
        (all, some, _) if some > 0 => {
            let what = format!(
                "outlier detection of the caller has ejected {some} of {all} instances of {service}: {}",
                ejected.join(", ")
            );
            PathLine::possible(place, what)
        }
        (all, ..) => {
            PathLine::ok(place, format!("the proxy of the caller knows {all} of {service}, and has ejected none"))
        }
    }
}

/// Whether the proxy of the destination reaches its app.
fn of_app(output: &ProxyOutput) -> Option<PathLine> {
    let app = output.endpoints.iter().find(|endpoint| endpoint.cluster == APP)?;
    let Endpoint { address, connections, failed_connections: failed, .. } = app;
    let place = Place::DestinationTasks;
    Some(if *failed > 0 && failed == connections {
        let what =
            format!("none of {connections} connections of the destination's proxy to its app at {address} succeeded");
        PathLine::fault(place, what)
            .changed_by(format!("Let the app listen on {address}, or register where it listens"))
    } else if *failed > 0 {
        PathLine::possible(place, format!("{failed} of {connections} connections to the app at {address} failed"))
    } else {
        PathLine::ok(place, format!("the destination's proxy reaches its app at {address}"))
    })
}

fn public_listener(output: &ProxyOutput) -> Option<PathLine> {
    let listeners = output.listeners.as_ref()?;
    let (place, is_public) = (Place::DestinationTasks, |name: &str| name.starts_with(PUBLIC));
    if let Some(rejection) = output.rejections.iter().find(|rejection| is_public(&rejection.name)) {
        let what = format!("the destination's proxy rejected {}: {}", rejection.name, rejection.reason);
        return Some(PathLine::fault(place, what).changed_by("Correct the config entry that it comes from"));
    }
    let is_there = listeners.iter().any(|listener| is_public(&listener.name) && listener.is_active);
    let fault =
        || PathLine::fault(place, "the destination's proxy listens for no other proxy").changed_by("Replace its task");
    (!is_there).then(fault)
}

/// The certificates that a proxy holds.
pub(super) fn held(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let place = Place::Trust;
    let unknown = |what: &str| vec![PathLine::in_no_api(place, what).with_commands(evidence.ask_proxy())];
    let Some(output) = evidence.proxy_output else {
        return unknown(
            "which roots and which certificate a proxy holds, and which configuration it rejected, is in no API. Ask the proxy",
        );
    };
    if evidence.end_of(output).is_none() {
        let service = output.service.as_deref().unwrap_or_default();
        return unknown(&format!("{OPTION} is of a proxy of {service}, which is neither end of the request"));
    }
    let Some(certificates) = &output.certificates else {
        return unknown(&format!("{OPTION} has no answer to /certs"));
    };
    let (roots, own): (Vec<&HeldCertificate>, Vec<&HeldCertificate>) = certificates.iter().partition(|it| it.is_root);
    [of_own(evidence, &own)].into_iter().chain(of_roots(evidence, &roots)).collect()
}

/// The first certificate is the proxy's, and further ones sign it.
fn of_own(evidence: &PathEvidence<'_>, own: &[&HeldCertificate]) -> PathLine {
    let change = "Replace the task: its proxy gets no certificate from Consul";
    let fault = |what: String| PathLine::fault(Place::Trust, what).changed_by(change);
    let Some(end) = own.iter().map(|it| it.expires).min() else {
        return fault("the proxy has no certificate".to_owned());
    };
    if end <= evidence.now {
        return fault(format!("a certificate of the proxy expired at {end}"));
    }
    PathLine::ok(Place::Trust, format!("the certificate of the proxy is valid until {end}"))
}

/// Whether the proxy trusts the root with which Consul signs now: the one that is valid for the same time.
fn of_roots(evidence: &PathEvidence<'_>, held: &[&HeldCertificate]) -> Option<PathLine> {
    let active = evidence.mesh.roots.as_ref().ok()?.iter().find(|root| root.is_active)?;
    let is_it = |it: &&HeldCertificate| {
        it.valid_from.as_second() == active.not_before.as_second()
            && it.expires.as_second() == active.not_after.as_second()
    };
    if held.iter().any(is_it) {
        return None;
    }
    let what = format!("the proxy does not trust Consul's active root {}", active.name);
    let change = "Replace the task: its proxy has the roots of another time, or of another Consul";
    Some(PathLine::fault(Place::Trust, what).changed_by(change))
}
