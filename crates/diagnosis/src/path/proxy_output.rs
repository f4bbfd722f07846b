//! What a proxy says of itself, where no API of Consul tells it: its listeners, the instances that it knows, and its certificates.

use mesh::consul_ecs::ports;
use observe::{Endpoint, HeldCertificate, Listener, ProxyOutput, Rejection};

use super::{
    chain::Leg,
    evidence::{PathEvidence, named},
    report::{PathLine, Place, PlaceVerdict},
    way_out::address,
};
use crate::{doctor::word, redaction};

/// The option that reads what the printed command has saved.
const OPTION: &str = "--proxy-output";
/// The file that the printed commands name.
const FILE: &str = "proxy.txt";
/// The paths of Envoy's administration interface that are read.
const CERTS: &str = "certs";
const CLUSTERS: &str = "clusters";
const CONFIG_DUMP: &str = "config_dump";
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

    /// The command that asks a proxy of an end for these answers, and the one that reads them. `into` writes them to the file.
    fn ask_proxy(&self, end: End, paths: &[&str], into: &str) -> Vec<String> {
        let urls: Vec<String> =
            paths.iter().map(|path| format!("http://127.0.0.1:{}/{path}", ports::ENVOY_ADMIN)).collect();
        let curl = format!("curl -s {}", urls.join(" "));
        let ask = match end {
            End::Source => self.in_source_task(&curl),
            End::Destination => self.in_destination_task(&curl),
        };
        let Some(ask) = ask else { return Vec::new() };
        let (source, destination) = (word(&self.source.service.name), word(&self.destination.service.name));
        vec![format!("{ask} {into} {FILE}"), format!("ecs-mesh path {source} {destination} {OPTION} {FILE}")]
    }

    /// That the file has not this answer, with the commands that add it.
    fn lacking_answer(&self, place: Place, end: End, path: &str) -> PathLine {
        let what = format!("{OPTION} has no answer to /{path}");
        PathLine::in_no_api(place, what).with_commands(self.ask_proxy(end, &[path], ">>"))
    }
}

/// What the proxy of the caller rejected, apart from clusters of the destination, and whether it listens for the app.
pub(super) fn way_out(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let Some(output) = evidence.output_of(End::Source) else { return Vec::new() };
    let upstream = evidence.source.upstreams_to(&evidence.destination.service).next();
    let wanted = upstream.map(|upstream| format!("{}:{}", address(upstream), upstream.local_bind_port));
    let is_transparent = evidence.source.proxies.iter().flatten().any(|proxy| proxy.is_transparent);
    let is_own = |name: &str| match &wanted {
        Some(wanted) => name.ends_with(&format!(":{wanted}")),
        None => is_transparent && name.starts_with(OUTBOUND),
    };
    let legs = evidence.targets();
    let is_of_destination = |name: &str| legs.iter().any(|leg| is_cluster_of(name, leg));
    let others = output.rejections.iter().filter(|rejection| !is_of_destination(&rejection.name));
    let mut lines: Vec<PathLine> = others
        .map(|it| rejected(it, Place::WayOut, "the proxy", is_own(&it.name) && !output.listens(&is_own)))
        .collect();
    let is_way = wanted.is_some() || is_transparent;
    if is_way && !lines.iter().any(|line| line.verdict == PlaceVerdict::Fault) {
        lines.push(match &output.listeners {
            Some(listeners) => listener(listeners, &is_own, wanted.as_deref().unwrap_or(OUTBOUND)),
            None => evidence.lacking_answer(Place::WayOut, End::Source, CONFIG_DUMP),
        });
    }
    lines
}

/// Whether the proxy listens for the app.
fn listener(listeners: &[Listener], is_own: &dyn Fn(&str) -> bool, wanted: &str) -> PathLine {
    let own: Vec<&Listener> = listeners.iter().filter(|listener| is_own(&listener.name)).collect();
    let what = match (own.is_empty(), own.iter().any(|listener| listener.is_active)) {
        (_, true) => return PathLine::ok(Place::WayOut, format!("the proxy itself listens: {wanted}")),
        (true, _) => format!("the proxy itself has no listener {wanted}"),
        (false, false) => format!("the listener {wanted} of the proxy waits for routes, clusters or certificates"),
    };
    let change = "Compare the registration with the definition, and replace the task if the proxy stays so";
    PathLine::fault(Place::WayOut, what).changed_by(change)
}

/// A rejected configuration: a fault if requests need it. A proxy that has an older one goes on with that.
fn rejected(rejection: &Rejection, place: Place, whose: &str, is_needed: bool) -> PathLine {
    let what = format!("{whose} rejected {}: {}", rejection.name, redaction::line(&rejection.reason));
    let change = "Correct the config entry that it comes from, or use an Envoy that the release of Consul supports";
    if is_needed { PathLine::fault(place, what).changed_by(change) } else { PathLine::possible(place, what) }
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
        return of_destination(evidence, output);
    }
    let Some(output) = evidence.output_of(End::Source) else { return Vec::new() };
    let legs = evidence.targets();
    let clusters = output.clusters.as_ref();
    let of_leg = |leg: &Leg<'_>| {
        let has = clusters.map(|clusters| clusters.iter().any(|cluster| is_cluster_of(cluster, leg)));
        let own = output.rejections.iter().filter(|it| is_cluster_of(&it.name, leg));
        let is_needed = has == Some(false);
        let rejected = own.map(|it| rejected(it, Place::DestinationTasks, "the proxy of the caller", is_needed));
        let mut lines: Vec<PathLine> = rejected.collect();
        if has == Some(true) || (is_needed && lines.is_empty()) {
            lines.push(of_cluster(evidence, output, leg, is_needed));
        }
        lines
    };
    let of_legs: Vec<PathLine> = legs.iter().flat_map(of_leg).collect();
    let is_lacking = clusters.is_none() && !legs.is_empty();
    let lacking = is_lacking.then(|| evidence.lacking_answer(Place::DestinationTasks, End::Source, CLUSTERS));
    of_legs.into_iter().chain(lacking).collect()
}

/// What the proxy of the caller knows of a target.
fn of_cluster(evidence: &PathEvidence<'_>, output: &ProxyOutput, leg: &Leg<'_>, is_missing: bool) -> PathLine {
    let service = named(&evidence.service_of(leg.target));
    if is_missing {
        let what = format!("the proxy of the caller has no cluster for {service}");
        return PathLine::fault(Place::DestinationTasks, what)
            .changed_by("Replace the task if its proxy stays so: it gets no configuration from Consul");
    }
    let known: Vec<&Endpoint> = output.endpoints.iter().filter(|it| is_cluster_of(&it.cluster, leg)).collect();
    of_endpoints(&known, &service)
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

/// What a proxy of the destination says: whether it reaches its app, and takes requests of other proxies.
fn of_destination(evidence: &PathEvidence<'_>, output: &ProxyOutput) -> Vec<PathLine> {
    let place = Place::DestinationTasks;
    let is_public = |name: &str| name.starts_with(PUBLIC);
    let is_deaf = !output.listens(&is_public);
    let has_app = output.clusters.as_ref().is_none_or(|clusters| clusters.contains(APP));
    let is_needed = |name: &str| (is_public(name) && is_deaf) || (name == APP && !has_app);
    let rejections = output.rejections.iter();
    let mut lines: Vec<PathLine> =
        rejections.map(|it| rejected(it, place, "the destination's proxy", is_needed(&it.name))).collect();
    match &output.clusters {
        Some(_) => lines.extend(of_app(output)),
        None => lines.push(evidence.lacking_answer(place, End::Destination, CLUSTERS)),
    }
    if output.listeners.is_none() {
        lines.push(evidence.lacking_answer(place, End::Destination, CONFIG_DUMP));
    } else if is_deaf && !lines.iter().any(|line| line.verdict == PlaceVerdict::Fault) {
        let what = "the destination's proxy listens for no other proxy";
        lines.push(PathLine::fault(place, what).changed_by("Replace its task"));
    }
    lines
}

/// The certificates that a proxy holds.
pub(super) fn held(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let unknown = |what: &str| {
        let commands = evidence.ask_proxy(End::Source, &[CERTS, CLUSTERS, CONFIG_DUMP], ">");
        let ask = if commands.is_empty() { "" } else { ". Ask the proxy" };
        vec![PathLine::in_no_api(Place::Trust, format!("{what}{ask}")).with_commands(commands)]
    };
    let Some(output) = evidence.proxy_output else {
        return unknown(
            "which roots and which certificate a proxy holds, and which configuration it rejected, is in no API",
        );
    };
    let Some(end) = evidence.end_of(output) else {
        let service = output.service.as_deref().unwrap_or_default();
        return unknown(&format!("{OPTION} is of a proxy of {service}, which is neither end of the request"));
    };
    let Some(certificates) = &output.certificates else {
        return vec![evidence.lacking_answer(Place::Trust, end, CERTS)];
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
