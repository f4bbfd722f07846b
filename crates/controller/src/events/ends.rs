//! The log of how tasks have stopped: ECS forgets a stopped task after an hour.

use mesh::{task::MeshTask, task_end::ContainerEnd};
use tracing::info;

use crate::outcome::Changes;

/// Logs how each of these tasks of the mesh has stopped, if it has. A retried message logs it again.
pub(super) fn log_ends(tasks: &[MeshTask], changes: &Changes) {
    for task in tasks {
        let Some(end) = changes.get(&task.arn).and_then(|change| change.end.as_ref()) else { continue };
        let service = task.identity.as_ref().map(|identity| identity.service.name.as_str());
        info!(
            action = "task_stopped",
            outcome = "seen",
            cluster_arn = %task.cluster,
            task_id = %task.arn.id(),
            service,
            stop_code = end.code,
            reason = end.reason,
            containers = ContainerEnd::line(&end.containers),
            created_at = end.created_at.map(tracing::field::display),
            started_at = end.started_at.map(tracing::field::display),
            stopped_at = end.stopped_at.map(tracing::field::display),
        );
    }
}
