//! What may cut off some of the requests: limits of connections and requests, outlier detection, and the TLS versions of the mesh.

use super::{
    evidence::{PathEvidence, SERVICE_READ, named, not_read},
    report::{PathLine, Place},
};
use crate::doctor::word;

const PLACE: Place = Place::Limits;

pub(super) fn judge(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let judges = [tls_versions, of_destination, of_calls];
    let lines: Vec<PathLine> = judges.iter().flat_map(|judge| judge(evidence)).collect();
    if lines.is_empty() { vec![PathLine::ok(PLACE, "no limit is set for this call")] } else { lines }
}

/// The mesh demands more of who takes a connection than it lets who makes one offer.
fn tls_versions(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let entry = match &evidence.mesh.entry {
        Ok(entry) => entry.as_ref(),
        Err(error) => return vec![not_read(PLACE, error, SERVICE_READ)],
    };
    let contradiction = entry.and_then(|entry| entry.contradicting_versions());
    let line = contradiction.map(|(lowest, highest)| {
        let what = format!(
            "the config entry mesh demands {lowest} of incoming connections and allows outgoing ones at most {highest}"
        );
        let change = "Lower TLS.Incoming.TLSMinVersion or raise TLS.Outgoing.TLSMaxVersion";
        PathLine::fault(PLACE, what).changed_by(change).with_command("consul config read -kind mesh -name mesh")
    });
    line.into_iter().collect()
}

fn of_destination(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let service = &evidence.destination.service;
    let limits = match &evidence.destination.limits {
        Ok(limits) => limits.as_ref(),
        Err(error) => return vec![not_read(PLACE, error, SERVICE_READ)],
    };
    let most = limits.map_or(0, |limits| limits.max_inbound_connections);
    let what = format!("each proxy of {} takes at most {most} connections (MaxInboundConnections)", named(service));
    (most > 0).then(|| set(what, &service.name)).into_iter().collect()
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

/// A limit that `service-defaults` of a service sets.
fn set(what: String, service: &str) -> PathLine {
    let read = format!("consul config read -kind service-defaults -name {}", word(service));
    PathLine::possible(PLACE, what).with_command(read)
}
