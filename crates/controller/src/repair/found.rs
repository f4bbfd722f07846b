//! What is found of running tasks: how their entries differ from the catalog, which tasks cannot be repaired from outside,
//! and the report.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use mesh::{
    arn::{ClusterArn, TaskArn},
    broken::{Broken, LoginTokens},
    catalog::{HealthCheck, instance_in_maintenance},
    consul_ecs::Registration,
    member::MemberTask,
    plan::{Action, Observed, Planned},
    repair::{Catalog, Difference, NotRepaired, Statuses},
    scope::Scope,
};
use observe::{Problem, World};
use report::{ClusterReport, Skipped};

use crate::{
    announcement::{Announcer, HealingKind, healing},
    outcome::Outcome,
};

/// A task whose entries in Consul differ from what they should be.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) running: MemberTask,
    pub(crate) expected: Vec<Registration>,
    pub(crate) difference: Difference,
    /// Its checks with another status than in ECS, as they should be.
    pub(crate) contradicting: Vec<HealthCheck>,
    /// Describes a check that passes in Consul although ECS does not confirm it.
    pub(super) unconfirmed: Option<String>,
}

impl Found {
    /// The service in Consul.
    pub(super) fn service(&self) -> String {
        self.expected.first().map(|registration| registration.name.clone()).unwrap_or_default()
    }

    /// Its checks, as they should be.
    pub(super) fn checks(&self) -> impl Iterator<Item = &HealthCheck> {
        self.expected.iter().flat_map(|registration| &registration.checks)
    }

    /// The registration of what is missing, if something is.
    pub(super) fn repair(&self) -> Option<Planned> {
        let repair = || for_task(&self.running, Action::Repair(self.difference.clone()));
        (!self.difference.is_empty()).then(repair)
    }

    /// What is missing in Consul.
    pub(super) fn missing(&self) -> String {
        let instances = self.difference.instances.iter().map(|it| format!("no instance {}", it.id));
        let checks = self.difference.checks.iter().map(|check| format!("no check {}", check.id));
        instances.chain(checks).collect::<Vec<_>>().join(", ")
    }
}

/// The correction of checks of a task, if there are any.
pub(super) fn correction(running: &MemberTask, checks: &[HealthCheck]) -> Option<Planned> {
    (!checks.is_empty()).then(|| for_task(running, Action::CorrectHealth(checks.to_vec())))
}

fn for_task(running: &MemberTask, action: Action) -> Planned {
    Planned { action, cluster: running.cluster.clone(), tasks: vec![running.task.arn.clone()] }
}

/// Compares tasks with the catalog, at `now`. Reports those that are left as they are.
pub(super) fn compare(
    tasks: impl IntoIterator<Item = MemberTask>,
    catalog: &Catalog<'_>,
    scope: &Scope,
    now: Timestamp,
    report: &mut RepairReport,
) -> Vec<Found> {
    let mut found = Vec::new();
    for running in tasks {
        match running.expected() {
            Ok(expected) => {
                let Some(difference) = catalog.difference(&expected) else {
                    report.leave(&running, &NotRepaired::NodeUnread);
                    continue;
                };
                let Statuses { contradicting, unconfirmed } = running.statuses(&expected, catalog);
                if !difference.is_empty() || !contradicting.is_empty() {
                    found.push(Found { running, expected, difference, contradicting, unconfirmed });
                } else if let Some(why) = unconfirmed {
                    report.leave(&running, &why);
                }
            }
            Err(why) if why.is_normal(&running.task, now) => {}
            // A registered task lacks nothing that is known, unless no container reports its health.
            Err(why)
                if why != NotRepaired::Disconnected
                    && catalog.has_task(running.task.arn.id())
                    && !scope.losses(&running.task, &running.definition).health_sync => {}
            Err(why) => report.leave(&running, &why),
        }
    }
    found
}

/// The result of the repairs of a sweep.
#[derive(Default)]
pub(crate) struct RepairReport {
    /// What would be done in each cluster, and which tasks are left as they are.
    pub(crate) clusters: BTreeMap<ClusterArn, ClusterReport>,
    /// What was applied.
    pub(crate) outcomes: Vec<Outcome>,
    /// The tasks without a proof among the login tokens whose IAM role proves them.
    pub(crate) proven_by_role: BTreeSet<TaskArn>,
    pub(crate) problems: Vec<Problem>,
    /// Why the guard held corrections back.
    pub(crate) alarms: BTreeSet<(ClusterArn, String)>,
}

impl RepairReport {
    pub(crate) fn of(&mut self, cluster: &ClusterArn) -> &mut ClusterReport {
        self.clusters.entry(cluster.clone()).or_default()
    }

    /// Reports a task whose entries are left as they are.
    pub(super) fn leave(&mut self, running: &MemberTask, why: &impl ToString) {
        let what = format!("task {}", running.task.arn.id());
        self.of(&running.cluster).skipped.push(Skipped { what, why: why.to_string() });
    }
}

/// Reports the broken ones among the running tasks of clusters that were read completely. Each is announced, unless there is no
/// `announcer`. A task that is proven by its role uses this Consul, so its tokens are gone if Consul lists none.
pub(crate) fn report_broken(world: &World, announcer: Option<&Announcer>, report: &mut RepairReport) {
    let running = world.running.iter().map(|running| (&running.cluster, running.task.arn.id()));
    let logins = LoginTokens::new(&world.observed.tokens, running);
    for running in world.running.iter().filter(|running| world.has_read_all_of(&running.cluster)) {
        let is_known = report.proven_by_role.contains(&running.task.arn);
        let tokens = logins.of_running(&running.cluster, running.task.arn.id()).or_else(|| is_known.then_some(0));
        let Some(broken) = running.broken(tokens, world.began) else { continue };
        let why = format!("{broken}; {}", running.replacement());
        if let Some(announcer) = announcer {
            let in_consul = match broken {
                Broken::ProxyStopped => instances_of(running, &world.observed),
                Broken::NoTokens => "no login token".to_owned(),
                Broken::OneToken => "one login token".to_owned(),
            };
            let service = running.identity.service.name.as_str();
            announcer.healed(HealingKind::Broken, healing(running, service, &why, in_consul));
        }
        report.leave(running, &why);
    }
}

/// The instances of a task, and which of them are drained.
fn instances_of(running: &MemberTask, observed: &Observed) -> String {
    let instances = observed.instances.iter().filter(|instance| instance.task == *running.task.arn.id());
    let seen = instances.map(|instance| {
        let on_node = |check: &&HealthCheck| check.node == instance.node && check.tenancy == instance.tenancy;
        let mut checks = observed.checks.iter().filter(on_node);
        let is_drained = checks.any(|check| instance_in_maintenance(&check.id) == Some(&instance.id));
        format!("{} {}", instance.id, if is_drained { "drained" } else { "not drained" })
    });
    let seen: Vec<String> = seen.collect();
    if seen.is_empty() { "no instance".to_owned() } else { seen.join(", ") }
}
