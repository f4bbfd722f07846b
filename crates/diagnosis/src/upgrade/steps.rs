//! The steps of an upgrade.

use std::collections::BTreeSet;

use audit::versions::{Line, Program, before, defects_of};

use super::{
    fit::{Fit, Releases},
    hops::{Hop, hops},
    pair::Pair,
    report::{RowName, UpgradeStep},
};

/// How tasks with a client agent move to Consul Dataplane.
const TO_DATAPLANE: &str = "https://developer.hashicorp.com/consul/docs/ecs/upgrade-to-dataplanes";

/// The steps, in order.
pub(super) struct Plan<'a> {
    /// The tasks after the steps.
    pub(super) tasks: Vec<(&'a RowName, Releases)>,
    pub(super) steps: Vec<UpgradeStep>,
    /// The notes that a step has: each is said once.
    said: BTreeSet<String>,
}

impl<'a> Plan<'a> {
    /// Before each hop of the servers, the tasks that do not go with both of its ends; after it, those for which there is
    /// no release that does. Of tasks whose releases are not known, only that they have to be found out.
    pub(super) fn new(all: &'a [(RowName, Releases)], known: &[Line], from: Line, target: Line) -> Self {
        let (known_tasks, unknown): (Vec<_>, Vec<_>) =
            all.iter().partition(|(_, releases)| !matches!(releases.fit(target), Fit::Unknown(_)));
        let tasks = known_tasks.into_iter().map(|(row, releases)| (row, releases.clone())).collect();
        let mut plan = Self { tasks, steps: Vec::new(), said: BTreeSet::new() };
        if !unknown.is_empty() {
            let what = "Find out the releases of these, whose images name none, and plan again".to_owned();
            let rows = unknown.into_iter().map(|(row, _)| row.clone()).collect();
            plan.steps.push(UpgradeStep { what, rows, notes: Vec::new() });
        }
        let releases: Vec<&Releases> = all.iter().map(|(_, releases)| releases).collect();
        for hop in hops(known, from, target, &releases) {
            plan.update(&[hop.from, hop.to], "Update");
            plan.upgrade_servers(hop);
            plan.update(&[hop.to], "At once, update");
        }
        if from == target {
            plan.update(&[target], "Update");
        }
        plan
    }

    fn upgrade_servers(&mut self, Hop { from, to }: Hop) {
        let what = format!("Upgrade Consul's servers from {from} to {to}");
        let conflicts = |releases: &Releases| matches!(releases.fit(to), Fit::Not(_));
        let lost =
            self.tasks.iter().filter(|(_, releases)| conflicts(releases) && Pair::for_tasks(releases, &[to]).is_none());
        let lost: Vec<String> = lost.map(|(row, _)| row.revision.clone()).collect();
        let mut notes: Vec<String> = before(to).map(str::to_owned).into_iter().collect();
        if !lost.is_empty() {
            let revisions = lost.join(", ");
            notes.push(format!("no release is known that goes with Consul {to} for {revisions}"));
        }
        self.steps.push(UpgradeStep { what, rows: Vec::new(), notes });
    }

    /// The tasks that do not go with all of these lines, as far as there are releases that do: a step for each pair.
    fn update(&mut self, consul: &[Line], verb: &str) {
        let mut updates: Vec<(Pair, Vec<RowName>, bool)> = Vec::new();
        for (row, releases) in &mut self.tasks {
            let Some(pair) = Pair::for_tasks(releases, consul) else { continue };
            let Some(changed) = releases.updated(consul, &pair.releases()) else { continue };
            let moves = releases.has_client_agent() && !changed.has_client_agent();
            match updates.iter_mut().find(|(other, ..)| *other == pair) {
                Some((_, rows, some_move)) => {
                    rows.push(RowName::clone(row));
                    *some_move |= moves;
                }
                None => updates.push((pair, vec![RowName::clone(row)], moves)),
            }
            *releases = changed;
        }
        let lines = consul.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
        for (pair, rows, some_move) in updates {
            let goes = if pair.dataplane.is_some() { "go" } else { "goes" };
            let what = format!("{verb} these tasks to {pair}, which {goes} with Consul {lines}");
            let notes = notes(&pair, some_move).into_iter().filter(|note| self.said.insert(note.clone())).collect();
            self.steps.push(UpgradeStep { what, rows, notes });
        }
    }
}

/// What to know before an update.
fn notes(pair: &Pair, some_move: bool) -> Vec<String> {
    let mut notes = vec![format!("if the controller of consul-ecs runs, update it to {} first", pair.consul_ecs)];
    if some_move {
        notes.push(format!("tasks with a client agent move to Consul Dataplane: {TO_DATAPLANE}"));
    }
    for (program, release) in pair.programs() {
        let unseen = defects_of(program, release).into_iter().filter(|defect| defect.rule.is_none());
        let of = |what: &str, action: &str| match program {
            Program::ConsulEcs => format!("{program} {}: {what}; {action}", Line::of(release)),
            _ => format!("{program}: {what}; {action}"),
        };
        notes.extend(unseen.map(|defect| of(&defect.what, &defect.action)));
    }
    notes
}
