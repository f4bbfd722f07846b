//! The certificates with which the proxies trust each other.

use std::time::Duration;

use jiff::Timestamp;
use mesh::{consul_ecs::ports, time::elapsed};
use observe::CaRoot;

use super::{
    evidence::{PathEvidence, not_read},
    report::{PathLine, Place},
};

const PLACE: Place = Place::Trust;
/// How long before its end a root is worth a line: Consul replaces a root that it made itself by hand only.
const SOON: Duration = Duration::from_hours(24 * 30);

pub(super) fn judge(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let root = match &evidence.mesh.roots {
        Ok(roots) => of_roots(roots, evidence.now),
        Err(error) => not_read(PLACE, error, ""),
    };
    vec![root, held_by_proxy(evidence)]
}

fn of_roots(roots: &[CaRoot], now: Timestamp) -> PathLine {
    let rotate = "consul connect ca get-config";
    let Some(root) = roots.iter().find(|root| root.is_active) else {
        return PathLine::fault(PLACE, "Consul has no active root certificate, so no proxy gets a certificate")
            .changed_by("Set up Consul's certificate authority")
            .with_command(rotate);
    };
    let (name, end) = (&root.name, root.not_after);
    if end <= now || root.not_before > now {
        let what = format!("the root {name} is valid from {} to {end} only", root.not_before);
        return PathLine::fault(PLACE, what).changed_by("Rotate Consul's root certificate").with_command(rotate);
    }
    if elapsed(now, end) < SOON {
        return PathLine::possible(PLACE, format!("the root {name} expires at {end}")).with_command(rotate);
    }
    PathLine::ok(PLACE, format!("the root {name} is valid until {end}"))
}

/// What only the proxy knows.
fn held_by_proxy(evidence: &PathEvidence<'_>) -> PathLine {
    let what = "which roots and which certificate a proxy holds, and which configuration it rejected, is in no API";
    let ask = format!("curl -s http://127.0.0.1:{}/certs", ports::ENVOY_ADMIN);
    PathLine::in_no_api(PLACE, what).with_commands(evidence.in_source_task(&ask))
}
