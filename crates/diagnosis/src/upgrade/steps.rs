//! The steps of an upgrade.
//!
//! The order, and its sources:
//!
//! 1. What does not go with the old and the new servers is updated first, if there are releases that do: servers refuse an Envoy
//!    that is too old for them, and the proxy runs on without a configuration
//!    (<https://github.com/hashicorp/consul-dataplane/issues/1245>). Where no consul-ecs goes with both, Consul Dataplane is updated
//!    to one that does, and consul-ecs after the servers. The controller comes before the tasks, and a new one runs beside
//!    the ACL controller until all tasks have Consul Dataplane
//!    (<https://developer.hashicorp.com/consul/docs/upgrade/ecs/dataplane>).
//! 2. The servers (<https://developer.hashicorp.com/consul/docs/upgrade/instructions>).
//! 3. What goes with the new servers only.
//! 4. Client agents, with an Envoy that the new Consul supports (<https://developer.hashicorp.com/consul/docs/upgrade>).

use std::collections::BTreeSet;

use audit::versions::{Defect, Line, Program, before, defects_of, envoy_of};
use semver::Version;

use super::{
    fit::{Fit, Kind, Releases},
    hops::{Hop, hops},
    pair::Pair,
    report::{RowName, UpgradeStep},
    servers::Servers,
};

/// How tasks with a client agent move to Consul Dataplane.
const TO_DATAPLANE: &str = "https://developer.hashicorp.com/consul/docs/upgrade/ecs/dataplane";

/// The steps, in order.
pub(super) struct Plan<'a> {
    /// The tasks and controllers after the steps.
    pub(super) tasks: Vec<(&'a RowName, Releases)>,
    pub(super) steps: Vec<UpgradeStep>,
    /// The notes that a step has: each is said once.
    said: BTreeSet<String>,
    /// Whether there is a controller whose release is to be found out.
    has_unknown_controller: bool,
}

impl<'a> Plan<'a> {
    /// Before each hop of the servers, the tasks that do not go with both of its ends; after it, those for which there is
    /// no release that does. Of a revision with a release that is not known, which may be newer than any in the table, only that it
    /// has to be found out.
    pub(super) fn new(all: &'a [(RowName, Releases)], known: &[Line], from: Line, target: Line) -> Self {
        let (unknown, known_tasks): (Vec<_>, Vec<_>) = all.iter().partition(|(_, releases)| releases.has_unknown());
        let tasks = known_tasks.into_iter().map(|(row, releases)| (row, releases.clone())).collect();
        let has_unknown_controller = unknown.iter().any(|(_, releases)| releases.kind == Kind::Controller);
        let mut plan = Self { tasks, steps: Vec::new(), said: BTreeSet::new(), has_unknown_controller };
        let what =
            "Find out what these go with, and plan again: it is not known what they run, or the table does not have it";
        plan.add(what.to_owned(), unknown.into_iter().map(|(row, _)| row.clone()).collect());
        let releases: Vec<&Releases> = all.iter().map(|(_, releases)| releases).collect();
        for hop in hops(known, from, target, &releases) {
            let across = plan.update_before(hop);
            // Agents that lag behind the old servers would be too old for the new ones
            plan.update_agents(hop.from, |releases| releases.lags_behind(hop.from));
            plan.upgrade_servers(known, hop);
            if let Some(newest) = Pair::newest(&[hop.to]) {
                // The newest is for tasks whose Consul Dataplane is newer than the one that was updated to before
                let before = across.map(|dataplane| Pair { dataplane: Some(dataplane), ..newest });
                for pair in before.into_iter().chain([newest]) {
                    plan.update(&pair, &Servers::all(&[hop.to]), "At once, update");
                }
            }
            plan.update_agents(hop.to, |releases| releases.has_unknown_agent() || releases.lags_behind(hop.to));
        }
        if from == target {
            if let Some(pair) = Pair::newest(&[target]) {
                plan.update(&pair, &Servers::all(&[target]), "Update");
            }
            plan.update_agents(target, |releases| releases.lags_behind(target));
        }
        let left = |releases: &Releases| matches!(releases.fit(target), Fit::Not(_));
        let what = format!(
            "Decide about these, which do not go with Consul {target}: no newer release is known that does, and the plan goes back to \
             no older one"
        );
        plan.add(what, plan.rows(left));
        plan
    }

    /// Adds a step about these revisions, if there are any.
    fn add(&mut self, what: String, rows: Vec<RowName>) {
        if !rows.is_empty() {
            self.steps.push(UpgradeStep { what, rows, notes: Vec::new() });
        }
    }

    fn rows(&self, wanted: impl Fn(&Releases) -> bool) -> Vec<RowName> {
        self.tasks.iter().filter(|(_, releases)| wanted(releases)).map(|(row, _)| RowName::clone(row)).collect()
    }

    fn upgrade_servers(&mut self, known: &[Line], Hop { from, to }: Hop) {
        let lost =
            self.rows(|releases| matches!(releases.fit(to), Fit::Not(_)) && Pair::for_tasks(releases, &[to]).is_none());
        let lost: Vec<String> = lost.into_iter().map(|row| row.revision).collect();
        // Those of a line that is left out are demanded as well.
        let demands = known.iter().filter(|line| **line > from && **line <= to).filter_map(|line| before(*line));
        let mut notes: Vec<String> = demands.map(|demand| format!("HashiCorp demands before: {demand}")).collect();
        if !lost.is_empty() {
            let revisions = lost.join(", ");
            notes.push(format!("no release is known that goes with Consul {to} for {revisions}"));
        }
        let what = format!("Upgrade Consul's servers from {from} to the newest {to}");
        self.steps.push(UpgradeStep { what, rows: Vec::new(), notes });
    }

    /// What does not go with both ends, as far as there are releases that do. If no consul-ecs does, its newest for the servers as
    /// they are, with a Consul Dataplane that goes with both: that one is returned, for the update after the servers.
    fn update_before(&mut self, Hop { from, to }: Hop) -> Option<&'static Version> {
        if let Some(pair) = Pair::newest(&[from, to]) {
            self.update(&pair, &Servers::all(&[from, to]), "Update");
            return None;
        }
        let pair = Pair::of_dataplane_across(from, to)?;
        self.update(&pair, &Servers::dataplane_across(from, to), "Update");
        pair.dataplane
    }

    /// What does not go with the servers: the controllers, then the tasks.
    fn update(&mut self, pair: &Pair, servers: &Servers, verb: &str) {
        let update = self.updated_tasks(pair, servers);
        self.update_controllers(pair, servers, verb, &update);
        if !update.rows.is_empty() {
            let programs: Vec<_> = pair.programs().filter(|(program, _)| update.programs.contains(program)).collect();
            let what = format!("{verb} these tasks to {}", goals(&programs, servers));
            let notes = notes(&programs, &update).into_iter().filter(|note| self.said.insert(note.clone())).collect();
            self.steps.push(UpgradeStep { what, rows: update.rows, notes });
        }
        if pair.dataplane.is_some() {
            self.delete_acl_controllers(update.moves);
        }
    }

    /// Updates the tasks that do not go with the servers.
    fn updated_tasks(&mut self, pair: &Pair, servers: &Servers) -> Update {
        let (mut update, target) = (Update::default(), pair.releases());
        let is_task = |releases: &Releases| releases.kind != Kind::Controller && pair.is_for(releases.kind);
        for (row, releases) in self.tasks.iter_mut().filter(|(_, releases)| is_task(releases)) {
            let Some(changed) = releases.updated(servers, &target) else { continue };
            let kept = releases.kept(&target).into_iter();
            update.kept.extend(kept.map(|program| format!("{} keeps {program}, which is newer", row.revision)));
            update.moves |= releases.kind != changed.kind;
            update.stays |= changed.kind == Kind::ClientAgent;
            update.has_fips |= releases.is_fips;
            update.programs.extend(changed.changed_since(releases));
            update.rows.push(RowName::clone(row));
            *releases = changed;
        }
        update
    }

    /// The controllers that are older than the tasks will be, or do not go with the servers. If the inventory has none, one may run
    /// elsewhere.
    fn update_controllers(&mut self, pair: &Pair, servers: &Servers, verb: &str, update: &Update) {
        let has_dataplane = pair.dataplane.is_some();
        let (mut rows, mut is_seen) = (Vec::new(), false);
        for (row, releases) in self.tasks.iter_mut().filter(|(_, releases)| releases.kind == Kind::Controller) {
            if releases.is_acl_controller() == has_dataplane {
                continue;
            }
            is_seen = true;
            let is_due = !update.rows.is_empty() || releases.conflicts_with(servers);
            if let Some(changed) = releases.controller_updated(pair.consul_ecs).filter(|_| is_due) {
                rows.push(RowName::clone(row));
                *releases = changed;
            }
        }
        let controller = if has_dataplane { "controller" } else { "ACL controller" };
        let release = format!("the {controller} of consul-ecs to {}", pair.consul_ecs);
        if is_seen {
            self.add(format!("{verb} {release}"), rows);
        } else if update.moves {
            let what = format!(
                "Deploy the controller of consul-ecs {} beside the ACL controller, if Consul has ACLs: both run until the tasks of the next \
                 step have moved to Consul Dataplane",
                pair.consul_ecs
            );
            let rows = self.rows(Releases::is_acl_controller);
            self.steps.push(UpgradeStep { what, rows, notes: Vec::new() });
        } else if !self.has_unknown_controller
            && update.programs.contains(&Program::ConsulEcs)
            && self.said.insert(release.clone())
        {
            self.steps.push(UpgradeStep {
                what: format!("{verb} {release}, if it runs"),
                rows: Vec::new(),
                notes: Vec::new(),
            });
        }
    }

    /// ACL controllers, after the last task with a client agent has moved.
    fn delete_acl_controllers(&mut self, moved: bool) {
        let rows = self.rows(Releases::is_acl_controller);
        let is_needed = self.tasks.iter().any(|(_, releases)| releases.kind == Kind::ClientAgent);
        if is_needed || (rows.is_empty() && !moved) {
            return;
        }
        self.tasks.retain(|(_, releases)| !releases.is_acl_controller());
        let what = "When no task with a client agent is left, delete the ACL controller, and in Consul the client policy, role and auth method";
        self.steps.push(UpgradeStep { what: what.to_owned(), rows, notes: Vec::new() });
    }

    /// Updates the client agents that are due to these servers' line.
    fn update_agents(&mut self, to: Line, is_due: impl Fn(&Releases) -> bool) {
        let envoy = envoy_of(to).iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let what = format!("Update the client agents of these tasks to Consul {to}, and their Envoy to one of {envoy}");
        self.add(what, self.rows(&is_due));
        for (_, releases) in self.tasks.iter_mut().filter(|(_, releases)| is_due(releases)) {
            releases.update_agent(to);
        }
    }
}

/// Tasks that are updated.
#[derive(Debug, Default)]
struct Update {
    rows: Vec<RowName>,
    /// The programs that get another release in some.
    programs: BTreeSet<Program>,
    /// Whether some move to Consul Dataplane.
    moves: bool,
    /// Whether some keep their client agent.
    stays: bool,
    /// Whether some have a FIPS image of consul-ecs.
    has_fips: bool,
    /// What they keep, one sentence each.
    kept: Vec<String>,
}

/// The releases of an update, and the servers that they go with.
fn goals(programs: &[(Program, &Version)], servers: &Servers) -> String {
    let mut goals: Vec<(&[Line], Vec<String>)> = Vec::new();
    for (program, release) in programs {
        let (lines, release) = (servers.of(*program), format!("{program} {release}"));
        match goals.iter_mut().find(|(others, _)| *others == lines) {
            Some((_, releases)) => releases.push(release),
            None => goals.push((lines, vec![release])),
        }
    }
    let goal = |(lines, releases): &(&[Line], Vec<String>)| {
        let goes = if releases.len() > 1 { "go" } else { "goes" };
        let lines = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
        format!("{}, which {goes} with Consul {lines}", releases.join(" and "))
    };
    goals.iter().map(goal).collect::<Vec<_>>().join(", and ")
}

/// What to know before an update.
fn notes(programs: &[(Program, &Version)], update: &Update) -> Vec<String> {
    let mut notes = update.kept.clone();
    if update.moves {
        notes.push(format!("tasks with a client agent move to Consul Dataplane: {TO_DATAPLANE}"));
    }
    if update.stays {
        notes.push("client agents are updated after the servers: their image of Consul stays as it is".to_owned());
    }
    for &(program, release) in programs {
        let is_unseen = |defect: &&Defect| match defect.rule.as_deref() {
            None => true,
            Some(rule) => update.has_fips && rule == "consul-fips-tag",
        };
        let of = |what: &str, action: &str| match program {
            Program::ConsulEcs => format!("{program} {}: {what}; {action}", Line::of(release)),
            _ => format!("{program}: {what}; {action}"),
        };
        let defects = defects_of(program, release).into_iter().filter(is_unseen);
        notes.extend(defects.map(|defect| of(&defect.what, &defect.action)));
    }
    notes
}
