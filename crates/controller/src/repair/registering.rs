//! Registers what is missing.

use std::collections::BTreeSet;

use consul::ConsulError;
use mesh::{arn::TaskArn, phase::TaskPhase};
use tracing::info;

use super::{Repairs, found::Found, report::RepairReport};
use crate::{
    deadline::Deadline,
    error::ControllerError,
    healing::{Healing, HealingKind, containers_of},
    outcome::concurrently,
    survey::{Problem, RunningTask},
};

impl Repairs {
    /// Registers what is missing of each task, and deregisters it again if the task has stopped meanwhile: then its event
    /// may have been handled before the registration. Returns the repaired tasks that are meant to run.
    pub(super) async fn register_missing(
        &self,
        found: &[Found],
        deadline: Deadline,
        report: &mut RepairReport,
    ) -> BTreeSet<TaskArn> {
        let missing: Vec<&Found> = found.iter().filter(|found| !found.difference.is_empty()).collect();
        if missing.is_empty() {
            return BTreeSet::new();
        }
        let writes = missing.iter().map(|&found| async move { (found, self.register_one(found, deadline).await) });
        let mut repaired = Vec::new();
        for (found, (has_written, error)) in concurrently(writes).await {
            if has_written {
                repaired.push(found);
            }
            report.problems.extend(error.map(|error| Problem::new(Some(&found.running.cluster), error)));
        }
        // Also those whose write failed: it may have taken effect.
        let ended = self.ended(&missing, deadline, report).await;
        let undone = missing.into_iter().filter(|found| ended.contains(&found.running.task.arn));
        let writes = undone.map(|found| async move { (found, deadline.run(self.deregister(found)).await) });
        for (found, result) in concurrently(writes).await {
            if let Err(error) = result {
                report.problems.push(Problem::new(Some(&found.running.cluster), error));
            }
        }
        repaired.retain(|found| !ended.contains(&found.running.task.arn));
        for found in &repaired {
            self.announcer.healed(healing(found));
            report.count_repaired(&found.running.cluster);
        }
        repaired.into_iter().map(|found| found.running.task.arn.clone()).collect()
    }

    /// Registers what is missing of a task, until an error. Returns whether anything was written, and the error.
    async fn register_one(&self, found: &Found, deadline: Deadline) -> (bool, Option<ControllerError>) {
        let mut has_written = false;
        for registration in &found.difference.instances {
            match deadline.run(self.consul.register(registration)).await {
                Ok(()) => has_written = true,
                Err(error) => return (has_written, Some(error)),
            }
        }
        if found.difference.checks.is_empty() {
            return (has_written, None);
        }
        match deadline.run(self.consul.set_checks(&found.difference.checks)).await {
            Ok(()) => (true, None),
            // Their instance is gone since: the next sweep registers it.
            Err(ControllerError::Consul(ConsulError::Conflict { .. })) => (has_written, None),
            Err(error) => (has_written, Some(error)),
        }
    }

    /// Which of these tasks are not meant to run any more.
    async fn ended(&self, found: &[&Found], deadline: Deadline, report: &mut RepairReport) -> BTreeSet<TaskArn> {
        let tasks: Vec<RunningTask> = found.iter().map(|found| found.running.clone()).collect();
        let now = self.describe(&tasks, deadline, report).await;
        let is_active = |running: &RunningTask| {
            now.tasks.get(&running.task.arn).is_some_and(|task| task.phase == TaskPhase::Active)
        };
        let ended = tasks.iter().filter(|running| !now.unread.contains(&running.cluster) && !is_active(running));
        ended.map(|running| running.task.arn.clone()).collect()
    }

    /// Deregisters what was registered of a task.
    async fn deregister(&self, found: &Found) -> Result<(), ConsulError> {
        for registration in &found.difference.instances {
            let (node, id) = (&registration.node, &registration.id);
            self.consul.deregister_service(node, id, &registration.tenancy).await?;
            info!(
                action = "deregister",
                outcome = self.tasks.scope.operation.done(),
                task_id = %found.running.task.arn.id(),
                cluster_arn = node,
                service = registration.name,
                service_id = id,
                reason = "the task has stopped while it was repaired"
            );
        }
        Ok(())
    }
}

fn healing(found: &Found) -> Healing {
    Healing {
        kind: HealingKind::Repair,
        cluster: found.running.cluster.clone(),
        task_id: found.running.task.arn.id().to_string(),
        service: found.service(),
        reason: "Consul has forgotten a running task, and mesh-init registers it only once".to_owned(),
        in_ecs: format!("RUNNING: {}", containers_of(&found.running.task.containers)),
        in_consul: found.missing(),
    }
}
