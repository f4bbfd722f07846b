//! The differences between running tasks and the catalog.

use jiff::Timestamp;
use mesh::{
    arn::ClusterArn,
    catalog::HealthCheck,
    registration::Registration,
    repair::{Catalog, Difference, NotRepaired, Statuses, TaskFacts},
};
use serde_json::{Value, json};

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
    pub(super) fn repair(&self) -> Option<(ClusterArn, Value)> {
        let (difference, task_id) = (&self.difference, self.running.task.arn.id().as_str());
        let instances: Vec<&str> = difference.instances.iter().map(|it| it.id.as_str()).collect();
        let checks: Vec<&str> = difference.checks.iter().map(|check| check.id.as_str()).collect();
        let repair = json!({ "action": "repair", "taskId": task_id, "instances": instances, "checks": checks });
        (!difference.is_empty()).then(|| (self.running.cluster.clone(), repair))
    }

    /// What is missing in Consul.
    pub(super) fn missing(&self) -> String {
        let instances = self.difference.instances.iter().map(|it| format!("no instance {}", it.id));
        let checks = self.difference.checks.iter().map(|check| format!("no check {}", check.id));
        instances.chain(checks).collect::<Vec<_>>().join(", ")
    }
}

/// The planned correction of checks of a task.
pub(super) fn correction(running: &RunningTask, checks: &[HealthCheck]) -> Option<(ClusterArn, Value)> {
    let check = |check: &HealthCheck| json!({ "checkId": check.id, "status": check.status.as_str() });
    let all: Vec<Value> = checks.iter().map(check).collect();
    let task_id = running.task.arn.id().as_str();
    let planned = json!({ "action": "correct_health", "taskId": task_id, "checks": all });
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
                    compared.found.push(Found { running, expected, difference, wrong });
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
