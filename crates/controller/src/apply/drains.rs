//! What is logged and announced of drains.

use std::collections::BTreeMap;

use mesh::{
    action::Action,
    arn::TaskArn,
    catalog::{DrainReason, HealthCheck},
    definition::DATAPLANE,
    mode::Mode,
};
use telemetry::Counted;
use tracing::info;

use crate::{
    counting::count,
    healing::{Healing, HealingKind},
    outcome::Outcome,
};

/// The tasks that were drained although they are meant to run, each once.
pub(super) fn without_proxy(outcomes: &[Outcome]) -> Vec<Healing> {
    let mut drained = BTreeMap::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.result.is_ok()) {
        let Action::MarkCritical(instance, reason @ DrainReason::ProxyStopped) = &outcome.planned.action else {
            continue;
        };
        let (Some(task), Ok(cluster)) = (outcome.planned.tasks.first(), instance.node.parse()) else { continue };
        drained.entry(task).or_insert_with(|| Healing {
            kind: HealingKind::Drain,
            cluster,
            task_id: task.id().to_string(),
            service: instance.name.clone(),
            reason: reason.as_str().to_owned(),
            in_ecs: format!("{DATAPLANE} STOPPED, and the task is meant to run"),
            in_consul: "instances without a maintenance check".to_owned(),
        });
    }
    drained.into_values().collect()
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
