//! Whether the service of a peer is exported to this cluster.

use observe::{Answer, Peering};

use super::{
    evidence::{PEERING_READ, PathEvidence, not_read},
    report::{PathLine, Place},
};
use crate::doctor::word;

const PLACE: Place = Place::Border;

pub(super) fn judge(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let destination = evidence.destination;
    match (&destination.service.peer, &destination.peering) {
        (Some(peer), Some(peering)) => vec![of_peer(evidence, peer, peering)],
        // Gateways between datacenters and partitions are not looked at.
        _ => Vec::new(),
    }
}

fn of_peer(evidence: &PathEvidence<'_>, peer: &str, peering: &Answer<Option<Peering>>) -> PathLine {
    let service = &evidence.destination.service.name;
    let read = format!("consul peering read -name {}", word(peer));
    let peering = match peering {
        Ok(Some(peering)) => peering,
        Ok(None) => {
            return PathLine::fault(PLACE, format!("this cluster has no peering {peer}"))
                .changed_by("Correct the name, or establish the peering")
                .with_command("consul peering list");
        }
        Err(error) => return not_read(PLACE, error, PEERING_READ),
    };
    if !peering.is_active() {
        let what = format!("the peering {peer} is {}", peering.state);
        return PathLine::fault(PLACE, what).changed_by("Establish it again").with_command(read);
    }
    if !peering.imported_services().contains(service) {
        let change = format!("Add {service} to the config entry exported-services in the cluster of {peer}");
        return PathLine::fault(PLACE, format!("peer {peer} does not export {service} to this cluster"))
            .changed_by(change);
    }
    PathLine::ok(PLACE, format!("peer {peer} is active and exports {service}"))
}
