//! Borders: whether the service beyond one is exported to the caller, and whether mesh gateways take the requests there.

use observe::{Answer, Beyond, Border, ConnectProxy, ExportedService, GatewayMode, GatewayPlace, Peering};
use serde_json::json;

use super::{
    chain::{Leg, Taken},
    evidence::{MESH_READ, PEERING_READ, PathEvidence, SERVICE_READ, named, not_read, read_entry, write_entry},
    report::{PathLine, Place},
};
use crate::doctor::word;

const PLACE: Place = Place::Border;

pub(super) fn judge(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let destination = evidence.destination;
    let mut lines = Vec::new();
    if let (Some(peer), Some(peering)) = (&destination.service.peer, &destination.peering) {
        lines.push(of_peer(evidence, peer, peering));
    }
    for leg in evidence.targets() {
        let Some(border) = evidence.border(leg.target) else { continue };
        let crossing = Crossing { evidence, leg, border };
        lines.extend(crossing.export());
        lines.extend(crossing.gateways());
    }
    lines
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
    // Instances of a peer have the addresses of its mesh gateways: without a gateway, none is exported.
    let is_empty = |proxies: &Answer<Vec<ConnectProxy>>| proxies.as_ref().is_ok_and(Vec::is_empty);
    if evidence.destination.proxies.values().all(is_empty) {
        let what = format!("peer {peer} exports {service}, and no instance of it has arrived");
        return PathLine::fault(PLACE, what)
            .changed_by(format!("In the cluster of {peer}, start {service} and a mesh gateway"));
    }
    PathLine::ok(PLACE, format!("peer {peer} is active and exports {service}"))
}

/// Requests to a target beyond a border.
struct Crossing<'a> {
    evidence: &'a PathEvidence<'a>,
    leg: Leg<'a>,
    border: Border,
}

impl Crossing<'_> {
    /// Whether another partition exports the service to the caller's partition.
    fn export(&self) -> Option<PathLine> {
        let Beyond::Partition(partition) = &self.border.beyond else { return None };
        let exported = match self.evidence.destination.borders.exports.get(partition)? {
            Ok(exported) => exported,
            Err(error) => return Some(not_read(PLACE, error, MESH_READ)),
        };
        let (name, [home, _]) = (&self.leg.target.service, self.evidence.source.service.tenancy.place());
        if exported.iter().any(|export: &ExportedService| export.is_export(name, home)) {
            return None;
        }
        // An entry that is there is extended by hand: a write replaces it.
        let command = if exported.is_empty() {
            let service = json!({ "Name": name, "Consumers": [{ "Partition": home }] });
            write_entry(&json!({
                "Kind": "exported-services", "Name": partition.as_str(), "Partition": partition.as_str(), "Services": [service],
            }))
        } else {
            format!("{} -partition {partition}", read_entry("exported-services", partition.as_str()))
        };
        let what = format!("partition {partition} does not export {name} to partition {home}");
        let change = format!("Add {name} to the config entry exported-services of partition {partition}");
        Some(self.line(what).changed_by(change).with_command(command))
    }

    /// Whether the gateways that requests pass are there.
    fn gateways(&self) -> Option<PathLine> {
        let service = named(&self.evidence.service_of(self.leg.target));
        let mode = match self.border.mode {
            GatewayMode::Direct => {
                let what = format!(
                    "no mode of mesh gateways is set, so proxies connect straight to those of {service}: the network has to lead there"
                );
                return Some(PathLine::possible(PLACE, what));
            }
            GatewayMode::Local => "local",
            GatewayMode::Remote => "remote",
        };
        let mut passed = Vec::new();
        for place in &self.border.gateways {
            let gateways = match self.evidence.destination.borders.gateways.get(place)? {
                Ok(gateways) => gateways,
                Err(error) => return Some(not_read(PLACE, error, SERVICE_READ)),
            };
            let passing = gateways.iter().filter(|gateway| gateway.is_passing()).count();
            if passing == 0 {
                let has = if gateways.is_empty() { "has no mesh gateway" } else { "has no mesh gateway that passes" };
                let what = format!("{} {has}, and requests to {service} need one (mode {mode})", in_words(place));
                return Some(self.line(what).changed_by("Start a mesh gateway there, or set another mode"));
            }
            passed.push(format!("{passing} of {}", in_words(place)));
        }
        let by = if passed.is_empty() { "those of the peer".to_owned() } else { passed.join(", then ") };
        Some(PathLine::ok(PLACE, format!("requests to {service} pass mesh gateways (mode {mode}): {by}")))
    }

    /// A fault, if requests surely go there.
    fn line(&self, what: String) -> PathLine {
        match self.leg.taken {
            Taken::Surely => PathLine::fault(PLACE, what),
            Taken::Perhaps => PathLine::possible(PLACE, what),
        }
    }
}

/// A place with gateways, in words.
fn in_words(place: &GatewayPlace) -> String {
    let partition = place.tenancy.partition().map(|name| format!("partition {name}"));
    let datacenter = place.datacenter.as_ref().map(|name| format!("datacenter {name}"));
    let named: Vec<String> = partition.into_iter().chain(datacenter).collect();
    if named.is_empty() { "this datacenter".to_owned() } else { named.join(" in ") }
}
