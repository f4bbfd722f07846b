//! The differences between running tasks and the catalog.

use jiff::Timestamp;
use mesh::{
    arn::ClusterArn,
    catalog::HealthCheck,
    registration::Registration,
    repair::{Catalog, Difference, NotRepaired, Statuses, TaskFacts},
};
use report::{CheckStatus, PlannedAction};

use super::report::Unrepaired;
use crate::{scope::Scope, survey::RunningTask};

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
