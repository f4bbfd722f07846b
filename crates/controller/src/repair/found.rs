//! What is found of running tasks: how their entries differ from the catalog, which tasks cannot be repaired from outside,
//! and the report.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use mesh::{
    arn::{ClusterArn, TaskArn},
    broken::{Broken, LoginTokens},
    catalog::{DrainReason, HealthCheck},
    observed::Observed,
    registration::Registration,
    repair::{Catalog, Difference, NotRepaired, Statuses, TaskFacts},
};
use report::{Blocked, CheckStatus, PlannedAction, Waiting};

use crate::{
    announcement::{Announcer, Healing, HealingKind, containers_of},
    scope::Scope,
    survey::{Problem, RunningTask, Survey},
};

/// A task whose entries in Consul differ from what they should be.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) running: RunningTask,
    pub(crate) expected: Vec<Registration>,
    pub(crate) difference: Difference,
    /// Its checks with another status than in ECS, as they should be.
    pub(crate) wrong: Vec<HealthCheck>,
    /// A check that passes in Consul, and of which ECS does not tell that it should: in words.
    unconfirmed: Option<String>,
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
    pub(super) fn repair(&self) -> Option<(ClusterArn, PlannedAction)> {
        let difference = &self.difference;
        let repair = || PlannedAction::Repair {
            task_id: self.running.task.arn.id().to_string(),
            instances: difference.instances.iter().map(|it| it.id.clone()).collect(),
            checks: difference.checks.iter().map(|check| check.id.clone()).collect(),
        };
        (!difference.is_empty()).then(|| (self.running.cluster.clone(), repair()))
    }

    /// The report of a check that is left as it is.
    pub(super) fn unconfirmed(&self) -> Option<Unrepaired> {
        Some(Unrepaired::of(&self.running, self.unconfirmed.as_ref()?))
    }

    /// What is missing in Consul.
    pub(super) fn missing(&self) -> String {
        let instances = self.difference.instances.iter().map(|it| format!("no instance {}", it.id));
        let checks = self.difference.checks.iter().map(|check| format!("no check {}", check.id));
        instances.chain(checks).collect::<Vec<_>>().join(", ")
    }
}

/// The planned correction of checks of a task.
pub(super) fn correction(running: &RunningTask, checks: &[HealthCheck]) -> Option<(ClusterArn, PlannedAction)> {
    let check =
        |check: &HealthCheck| CheckStatus { check_id: check.id.clone(), status: check.status.as_str().to_owned() };
    let task_id = running.task.arn.id().to_string();
    let planned = PlannedAction::CorrectHealth { task_id, checks: checks.iter().map(check).collect() };
    (!checks.is_empty()).then(|| (running.cluster.clone(), planned))
}

/// The comparison of tasks with the catalog.
#[derive(Default)]
pub(super) struct Compared {
    pub(super) found: Vec<Found>,
    pub(super) unrepaired: Vec<Unrepaired>,
}

/// Compares tasks with the catalog, at `now`.
pub(super) fn compare(tasks: Vec<RunningTask>, catalog: &Catalog<'_>, scope: &Scope, now: Timestamp) -> Compared {
    let mut compared = Compared::default();
    for running in tasks {
        match facts(&running, scope.is_enterprise()).expected() {
            Ok(expected) => {
                let Some(difference) = catalog.difference(&expected) else {
                    compared.unrepaired.push(Unrepaired::of(&running, &NotRepaired::NodeUnread));
                    continue;
                };
                let Statuses { wrong, unconfirmed } =
                    facts(&running, scope.is_enterprise()).statuses(&expected, catalog);
                if !difference.is_empty() || !wrong.is_empty() {
                    compared.found.push(Found { running, expected, difference, wrong, unconfirmed });
                } else if let Some(why) = unconfirmed {
                    compared.unrepaired.push(Unrepaired::of(&running, &why));
                }
            }
            Err(why) if why.is_normal(&running.task.placement, now) => {}
            // A task that is registered lacks nothing that is known of, unless nobody reports its health.
            Err(why)
                if why != NotRepaired::Disconnected
                    && catalog.has_task(running.task.arn.id())
                    && !scope.losses(&running.task, &running.definition).health_sync => {}
            Err(why) => compared.unrepaired.push(Unrepaired::of(&running, &why)),
        }
    }
    compared
}

pub(super) fn facts(running: &RunningTask, is_enterprise: bool) -> TaskFacts<'_> {
    let RunningTask { cluster, task, definition } = running;
    TaskFacts { cluster, task, definition, is_enterprise }
}

/// A task whose entries are left as they are, and why.
#[derive(Debug, Clone)]
pub(crate) struct Unrepaired {
    pub(crate) cluster: ClusterArn,
    pub(crate) task_id: String,
    pub(crate) why: String,
}

impl Unrepaired {
    pub(crate) fn of(running: &RunningTask, why: &impl ToString) -> Self {
        let task_id = running.task.arn.id().to_string();
        Self { cluster: running.cluster.clone(), task_id, why: why.to_string() }
    }
}

/// What was repaired in a cluster, in numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Repaired {
    /// The tasks whose instances or checks were registered again.
    pub(crate) tasks: usize,
    /// The checks whose status was corrected.
    pub(crate) checks: usize,
}

/// The result of the repairs of a sweep.
#[derive(Default)]
pub(crate) struct RepairReport {
    pub(crate) repaired: BTreeMap<ClusterArn, Repaired>,
    /// What would be written now.
    pub(crate) planned: Vec<(ClusterArn, PlannedAction)>,
    /// What waits for a time or a second look.
    pub(crate) waiting: Vec<(ClusterArn, Waiting)>,
    /// What is refused, with its `reason`.
    pub(crate) blocked: Vec<(ClusterArn, Blocked)>,
    pub(crate) unrepaired: Vec<Unrepaired>,
    /// The tasks without a proof among the login tokens whose IAM role proves them.
    pub(crate) proven_by_role: BTreeSet<TaskArn>,
    pub(crate) problems: Vec<Problem>,
    /// Why the guard holds corrections of a cluster back.
    pub(crate) alarms: BTreeSet<(ClusterArn, String)>,
}

impl RepairReport {
    pub(super) fn count_repaired(&mut self, cluster: &ClusterArn) {
        self.repaired.entry(cluster.clone()).or_default().tasks += 1;
    }

    pub(super) fn count_corrected(&mut self, cluster: &ClusterArn, checks: usize) {
        self.repaired.entry(cluster.clone()).or_default().checks += checks;
    }
}

/// The broken ones among the running tasks of clusters that were read completely. Each is announced, unless there is no
/// `announcer`. A task that is `proven_by_role` uses this Consul, so its tokens are gone if Consul lists none.
pub(crate) fn report_broken(
    survey: &Survey,
    scope: &Scope,
    proven_by_role: &BTreeSet<TaskArn>,
    announcer: Option<&Announcer>,
) -> Vec<Unrepaired> {
    let running = survey.running.iter().map(|running| (&running.cluster, running.task.arn.id()));
    let logins = LoginTokens::new(&survey.observed.tokens, running);
    let read = survey.running.iter().filter(|running| survey.has_read_all_of(&running.cluster));
    let broken = read.filter_map(|running| {
        let RunningTask { cluster, task, definition } = running;
        let facts = TaskFacts { cluster, task, definition, is_enterprise: scope.is_enterprise() };
        let is_known = proven_by_role.contains(&task.arn);
        let tokens = logins.of_running(cluster, task.arn.id()).or_else(|| is_known.then_some(0));
        let broken = facts.broken(tokens, survey.began)?;
        let why = format!("{broken}; {}", facts.replacement());
        if let Some(announcer) = announcer {
            announcer.healed(healing(running, broken, &why, &survey.observed));
        }
        Some(Unrepaired::of(running, &why))
    });
    broken.collect()
}

fn healing(running: &RunningTask, broken: Broken, why: &str, observed: &Observed) -> Healing {
    Healing {
        kind: HealingKind::Broken,
        cluster: running.cluster.clone(),
        task_id: running.task.arn.id().to_string(),
        service: service_of(running, observed).unwrap_or_default(),
        reason: why.to_owned(),
        in_ecs: containers_of(&running.task.containers),
        in_consul: match broken {
            Broken::ProxyStopped => instances_of(running, observed),
            Broken::NoTokens => "no login token".to_owned(),
            Broken::OneToken => "one login token".to_owned(),
        },
    }
}

/// The service of a task in Consul.
fn service_of(running: &RunningTask, observed: &Observed) -> Option<String> {
    let task = observed.tasks.iter().find(|task| task.arn == running.task.arn)?;
    Some(task.identity.as_ref()?.service.name.to_string())
}

/// The instances of a task, and which of them are drained.
fn instances_of(running: &RunningTask, observed: &Observed) -> String {
    let instances = observed.instances.iter().filter(|instance| instance.task == *running.task.arn.id());
    let seen = instances.map(|instance| {
        let drain = HealthCheck::maintenance(instance, DrainReason::ProxyStopped);
        let is_drained = observed.checks.iter().any(|check| check.is_same_as(&drain));
        format!("{} {}", instance.id, if is_drained { "drained" } else { "not drained" })
    });
    let seen: Vec<String> = seen.collect();
    if seen.is_empty() { "no instance".to_owned() } else { seen.join(", ") }
}
