//! What is logged and announced of drains and deregistrations.

use std::collections::BTreeMap;

use mesh::{
    action::Action,
    arn::TaskArn,
    catalog::{DrainReason, HealthCheck, ServiceInstance},
    definition::DATAPLANE,
    mode::Mode,
};
use telemetry::Counted;
use tracing::info;

use crate::{
    announcement::{Announcement, TaskEntries},
    announcer::Announcer,
    counting::count,
    healing::{Healing, HealingKind},
    outcome::Outcome,
};

/// Announces which tasks were drained or deregistered, each once.
pub(super) fn announce(outcomes: &[Outcome], announcer: &Announcer) {
    let mut tasks: BTreeMap<(String, Change), Vec<&ServiceInstance>> = BTreeMap::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.result.is_ok()) {
        let (instance, change) = match &outcome.planned.action {
            Action::MarkCritical(instance, reason) => (instance, Change::Drained(*reason)),
            Action::Deregister(instance) => (instance, Change::Deregistered),
            _ => continue,
        };
        tasks.entry((instance.task.to_string(), change)).or_default().push(instance);
    }
    for ((task_id, change), instances) in tasks {
        // The name of a sidecar proxy is longer than that of its service.
        let Some(named) = instances.iter().min_by_key(|instance| instance.name.len()) else { continue };
        let entries = |reason| TaskEntries {
            node: named.node.clone(),
            task_id: task_id.clone(),
            service: named.name.clone(),
            service_ids: instances.iter().map(|instance| instance.id.clone()).collect(),
            reason,
        };
        match change {
            Change::Drained(reason @ DrainReason::Stopping) => {
                announcer.announce(&Announcement::StoppingTaskDrained(entries(reason.as_str())));
            }
            Change::Deregistered => {
                announcer.announce(&Announcement::TaskDeregistered(entries("the task does not run any more")));
            }
            Change::Drained(reason @ DrainReason::ProxyStopped) => {
                if let Some(healing) = without_proxy(named, reason) {
                    announcer.healed(healing);
                }
            }
        }
    }
}

/// What was done with an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Drained(DrainReason),
    Deregistered,
}

/// A task that was drained although it is meant to run.
fn without_proxy(instance: &ServiceInstance, reason: DrainReason) -> Option<Healing> {
    Some(Healing {
        kind: HealingKind::Drain,
        cluster: instance.node.parse().ok()?,
        task_id: instance.task.to_string(),
        service: instance.name.clone(),
        reason: reason.as_str().to_owned(),
        in_ecs: format!("{DATAPLANE} STOPPED, and the task is meant to run"),
        in_consul: "instances without a maintenance check".to_owned(),
    })
}

pub(super) fn log_drain(check: &HealthCheck, tasks: &[TaskArn], operation: Mode) {
    count(operation, Counted::InstancesDrained, 1);
    info!(
        action = "mark_critical",
        outcome = operation.done(),
        task_id = tasks.first().map(|task| task.id().as_str()),
        cluster_arn = check.node,
        service = check.service_name,
        check_id = check.id,
        reason = check.output
    );
}

pub(super) fn log_deregistration(instance: &ServiceInstance, operation: Mode) {
    count(operation, Counted::InstancesDeregistered, 1);
    info!(
        action = "deregister",
        outcome = operation.done(),
        task_id = %instance.task,
        cluster_arn = instance.node,
        service = instance.name,
        service_id = instance.id
    );
}
