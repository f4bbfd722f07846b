//! The steps of an upgrade.

use audit::versions::{Line, Program, defects_of};

use super::{
    fit::{Fit, Releases},
    hops::{Hop, Pair},
    report::{RowName, UpgradeStep},
};

/// How tasks with a client agent move to Consul Dataplane.
const TO_DATAPLANE: &str = "https://developer.hashicorp.com/consul/docs/ecs/upgrade-to-dataplanes";

/// The steps: before each hop of the servers, the tasks that do not go with both of its ends; at the end, those that do
/// not go with the target. Tasks of which it is not known are in no step, and none goes back to an older release.
pub(super) fn steps(all: &[(RowName, Releases)], hops: &[Hop], target: Line) -> Vec<UpgradeStep> {
    let mut steps = Vec::new();
    let mut tasks: Vec<(&RowName, Releases)> = all.iter().map(|(row, releases)| (row, releases.clone())).collect();
    for hop in hops {
        if let Some(pair) = hop.both {
            let what = format!("Update the tasks to {}, which go with Consul {} and {}", named(pair), hop.from, hop.to);
            steps.extend(update(&mut tasks, &[hop.from, hop.to], pair, what));
        }
        steps.push(UpgradeStep { what: servers(hop), rows: Vec::new(), notes: Vec::new() });
        if hop.both.is_none()
            && let Some(pair) = Pair::for_all(&[hop.to])
        {
            let what = format!("At once, update the tasks to {}, which go with Consul {}", named(pair), hop.to);
            steps.extend(update(&mut tasks, &[hop.to], pair, what));
        }
    }
    if let Some(pair) = Pair::for_all(&[target]) {
        let what = format!("Update the tasks to {}, which go with Consul {target}", named(pair));
        steps.extend(update(&mut tasks, &[target], pair, what));
    }
    steps
}

fn servers(hop: &Hop) -> String {
    let Hop { from, to, both } = hop;
    match both {
        Some(_) => format!("Upgrade Consul's servers from {from} to {to}"),
        None => format!("Upgrade Consul's servers from {from} to {to}; no release of consul-ecs goes with both"),
    }
}

fn named(pair: Pair) -> String {
    format!("consul-ecs {} and consul-dataplane {}", pair.consul_ecs, pair.dataplane)
}

/// The step that updates those tasks that do not go with all of these lines; `None` if all do.
fn update(tasks: &mut [(&RowName, Releases)], consul: &[Line], pair: Pair, what: String) -> Option<UpgradeStep> {
    let (mut rows, mut has_client_agent) = (Vec::new(), false);
    let updated = pair.releases();
    for (row, releases) in tasks {
        let is_blocked = consul.iter().any(|line| matches!(releases.fit(*line), Fit::Not(_)));
        if is_blocked && !releases.are_newer_than(&updated) {
            has_client_agent |= releases.has_client_agent();
            rows.push(RowName::clone(row));
            *releases = updated.clone();
        }
    }
    if rows.is_empty() {
        return None;
    }
    let mut notes = Vec::new();
    if has_client_agent {
        notes.push(format!("tasks with a client agent move to Consul Dataplane: {TO_DATAPLANE}"));
    }
    for (program, release) in [(Program::ConsulEcs, pair.consul_ecs), (Program::Dataplane, pair.dataplane)] {
        let unseen = defects_of(program, release).into_iter().filter(|defect| defect.rule.is_none());
        notes.extend(unseen.map(|defect| format!("{program} {release}: {}; {}", defect.what, defect.action)));
    }
    Some(UpgradeStep { what, rows, notes })
}
