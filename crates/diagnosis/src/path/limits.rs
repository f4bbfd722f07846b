//! What may cut off some of the requests: limits of connections and requests, outlier detection, times, and the TLS settings of the
//! mesh.

use mesh::identity::MeshService;

use super::{
    evidence::{PathEvidence, SERVICE_READ, named, not_read, read_entry},
    report::{PathLine, Place},
    timeouts,
};
use crate::status::outlier_notes;

const PLACE: Place = Place::Limits;

pub(super) fn judge(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let judges = [tls, of_destination, of_calls, outliers_of_definition, timeouts::judge];
    let lines: Vec<PathLine> = judges.iter().flat_map(|judge| judge(evidence)).collect();
    if lines.is_empty() { vec![PathLine::ok(PLACE, "no limit is set for this call")] } else { lines }
}

/// What the mesh demands of connections: a fault, if it demands more of who takes one than it lets who makes one offer.
fn tls(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let entry = match &evidence.mesh.entry {
        Ok(Some(entry)) => entry,
        Ok(None) => return Vec::new(),
        Err(error) => return vec![not_read(PLACE, error, SERVICE_READ)],
    };
    let read = read_entry("mesh", "mesh");
    if let Some((lowest, highest)) = entry.contradicting_versions() {
        let what = format!(
            "the config entry mesh demands {lowest} of incoming connections and allows outgoing ones at most {highest}"
        );
        let change = "Lower TLS.Incoming.TLSMinVersion or raise TLS.Outgoing.TLSMaxVersion";
        return vec![PathLine::fault(PLACE, what).changed_by(change).with_command(read)];
    }
    if let Some((taken, offered)) = entry.contradicting_groups() {
        let (taken, offered) = (taken.join(", "), offered.join(", "));
        let what = format!("the config entry mesh takes the key-exchange groups {taken} and offers only {offered}");
        let change = "Name a group in both TLS.Incoming.ECDHCurves and TLS.Outgoing.ECDHCurves";
        return vec![PathLine::fault(PLACE, what).changed_by(change).with_command(read)];
    }
    let set = entry.tls_settings();
    if set.is_empty() {
        return Vec::new();
    }
    let what =
        format!("a proxy whose Envoy lacks what the config entry mesh demands has no connection: {}", set.join(", "));
    vec![PathLine::possible(PLACE, what).with_command(read)]
}

fn of_destination(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let service = &evidence.destination.service;
    let limits = match &evidence.destination.limits {
        Ok(limits) => limits.as_ref(),
        Err(error) => return vec![not_read(PLACE, error, SERVICE_READ)],
    };
    let Some(limits) = limits else { return Vec::new() };
    let (most, each, name) = (limits.max_inbound_connections, "each proxy of", named(service));
    let (a_second, routes) = limits.rate_limits();
    let found = [
        (most > 0, format!("{each} {name} takes at most {most} connections (MaxInboundConnections)")),
        (a_second > 0, format!("{each} {name} takes at most {a_second} requests a second (RateLimits)")),
        (routes > 0, format!("{each} {name} limits the requests a second of {routes} of its routes (RateLimits)")),
    ];
    found.into_iter().filter(|(is_set, _)| *is_set).map(|(_, what)| set(what, &service.name)).collect()
}

fn of_calls(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let (source, destination) = (&evidence.source.service, &evidence.destination.service);
    let limits = match &evidence.source.limits {
        Ok(limits) => limits.as_ref().map(|limits| limits.of_calls_to(&destination.name)).unwrap_or_default(),
        Err(error) => return vec![not_read(PLACE, error, SERVICE_READ)],
    };
    let numbers: Vec<String> = limits.limits.iter().map(|(name, most)| format!("{name} {most}")).collect();
    let mut lines = Vec::new();
    if !numbers.is_empty() {
        let what = format!("each proxy of {} limits its calls: {}", named(source), numbers.join(", "));
        lines.push(set(what, &source.name));
    }
    if limits.passive_health_check.is_some() {
        let what =
            format!("outlier detection of {} may eject instances of {} that fail", named(source), named(destination));
        lines.push(set(what, &source.name));
    }
    lines
}

/// Where the definition of the caller brings other outlier detection than Consul has.
fn outliers_of_definition(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let source = &evidence.source.service;
    // Said by the limits of its calls, which stand in the same entry.
    if evidence.source.limits.is_err() {
        return Vec::new();
    }
    let is_it =
        |service: &MeshService| service.name.as_str() == source.name && service.tenancy.is_same_place(&source.tenancy);
    let notes = evidence.observed.clusters.iter().flat_map(|cluster| outlier_notes(cluster, is_it));
    notes.map(|note| set(note, &source.name)).collect()
}

/// A limit that `service-defaults` of a service sets.
fn set(what: String, service: &str) -> PathLine {
    PathLine::possible(PLACE, what).with_command(read_entry("service-defaults", service))
}
