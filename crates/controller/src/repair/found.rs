//! The differences between running tasks and the catalog.

use jiff::Timestamp;
use mesh::{
    arn::ClusterArn,
    catalog::HealthCheck,
    registration::Registration,
    repair::{Catalog, Difference, NotRepaired, TaskFacts},
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

    /// What would be done for it.
    pub(super) fn planned(&self) -> Vec<(ClusterArn, Value)> {
        let (difference, task_id) = (&self.difference, self.running.task.arn.id().to_string());
        let mut planned = Vec::new();
        if difference.is_missing_something() {
            let instances: Vec<&str> = difference.instances.iter().map(|it| it.id.as_str()).collect();
            let checks: Vec<&str> = difference.checks.iter().map(|check| check.id.as_str()).collect();
            planned.push(json!({ "action": "repair", "taskId": task_id, "instances": instances, "checks": checks }));
        }
        if !difference.statuses.is_empty() {
            let check = |check: &HealthCheck| json!({ "checkId": check.id, "status": check.status.as_str() });
            let checks: Vec<Value> = difference.statuses.iter().map(check).collect();
            planned.push(json!({ "action": "correct_health", "taskId": task_id, "checks": checks }));
        }
        planned.into_iter().map(|planned| (self.running.cluster.clone(), planned)).collect()
    }

    /// What is missing in Consul.
    pub(super) fn missing(&self) -> String {
        let instances = self.difference.instances.iter().map(|it| format!("no instance {}", it.id));
        let checks = self.difference.checks.iter().map(|check| format!("no check {}", check.id));
        instances.chain(checks).collect::<Vec<_>>().join(", ")
    }
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
        match expected(&running, scope.is_enterprise()) {
            Ok(expected) => {
                let Some(difference) = catalog.difference(&expected) else {
                    compared.unrepaired.push(Unrepaired::of(&running, &NotRepaired::NodeUnread));
                    continue;
                };
                if !difference.is_empty() {
                    compared.found.push(Found { running, expected, difference });
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

/// What Consul should hold for a task.
pub(super) fn expected(running: &RunningTask, is_enterprise: bool) -> Result<Vec<Registration>, NotRepaired> {
    let RunningTask { cluster, task, definition } = running;
    TaskFacts { cluster, task, definition, is_enterprise }.expected()
}
