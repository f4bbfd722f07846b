//! Hosts that have lost contact with ECS: their tasks are drained if EC2 says that the host is gone.

use std::collections::{BTreeMap, BTreeSet};

use aws::ec2::Ec2Error;
use mesh::{
    arn::TaskArn,
    guard::{corrections::Corrections, drains},
    host::LostHost,
    plan::plan,
    settings::RepairMode,
    task::MeshTask,
};
use observe::{CallError, Deadline};
use tracing::{info, warn};

use super::{TaskEvents, for_each};
use crate::{
    error::ControllerError,
    failures::Failures,
    outcome::{Changes, PlanSource},
};

impl TaskEvents {
    /// Drains the tasks of hosts that are gone. Returns the messages whose work failed.
    pub(super) async fn drain_gone_hosts(
        &self,
        hosts: &BTreeMap<LostHost, Vec<usize>>,
        deadline: Deadline,
    ) -> Failures<usize> {
        if hosts.is_empty() || self.context.scope.repair != RepairMode::On {
            return Failures::new();
        }
        let ids = hosts.keys().map(|host| host.ec2_instance.clone()).collect();
        let instances = match self.context.observer.ec2_instances(ids, deadline.half_way()).await {
            Ok(instances) => instances,
            // Sweeps ask again about tasks without contact.
            Err(CallError::Ec2(error @ Ec2Error::Failed { .. })) => {
                warn!(outcome = "skipped", reason = %error, "whether hosts without contact to ECS are gone is not known");
                return Failures::new();
            }
            Err(error) => {
                let error = ControllerError::shared(error);
                return hosts.values().flat_map(|messages| for_each(messages, &error)).collect();
            }
        };
        let (mut tasks, mut messages_of, mut failed) = (Vec::new(), BTreeMap::new(), Failures::new());
        for (host, messages) in hosts.iter().filter(|(host, _)| instances.gone.contains(&host.ec2_instance)) {
            match self.context.observer.tasks_on(host, deadline.half_way()).await {
                Ok(found) => {
                    let (cluster_arn, ec2_instance) = (host.cluster.as_str(), host.ec2_instance.as_str());
                    info!(cluster_arn, ec2_instance, tasks = found.len(), "EC2 says that the host is gone");
                    messages_of.extend(found.iter().map(|task| (task.arn.clone(), messages)));
                    tasks.extend(found);
                }
                Err(error) => failed.extend(for_each(messages, &ControllerError::shared(error))),
            }
        }
        for (task, error) in self.drain(tasks, deadline).await {
            failed.extend(messages_of.get(&task).into_iter().flat_map(|messages| for_each(messages, &error)));
        }
        failed
    }

    /// Drains the tasks that the guard does not hold back. Each sweep judges the others again.
    async fn drain(&self, tasks: Vec<MeshTask>, deadline: Deadline) -> Failures {
        let arns: BTreeSet<TaskArn> = tasks.iter().map(|task| task.arn.clone()).collect();
        let (observed, unread) = self.context.observer.observe(tasks, deadline.half_way()).await;
        let mut failures = Failures::of_unread(unread);
        let planned = plan(&observed, self.context.plan_settings());
        if planned.is_empty() {
            return failures;
        }
        let checks = match self.context.observer.checks_beside(&planned, deadline.half_way()).await {
            Ok(checks) => checks,
            Err(error) => return Failures::of_all(&arns, error.into()),
        };
        let mut corrections = Corrections::new(Some(self.context.scope.max_delete));
        let (allowed, held_back) = drains::hold_back(planned, &checks, &mut corrections);
        for (planned, why) in held_back {
            let task_id = planned.tasks.first().map(|task| task.id().as_str());
            warn!(task_id, outcome = "kept", reason = %why, "the host is gone, and the guard keeps the task in rotation");
        }
        let changes = Changes::new();
        let outcomes = self.applier.apply(allowed, PlanSource::Events(&changes), deadline).await;
        failures.extend(Failures::of_actions(outcomes));
        failures
    }
}
