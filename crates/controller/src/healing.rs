//! What the controller does for tasks that are half dead: each action is one log line, which a metric counts, and one event.

use std::{sync::Arc, time::Duration};

use aws::events::{EventPublisher, OwnEvent};
use mesh::{arn::ClusterArn, mode::Mode, task::TaskContainer};
use serde_json::json;
use telemetry::Counted;
use tokio::time::timeout;
use tracing::warn;

use crate::{counting::count, deadline::Deadline};

/// How long the publication of events may take, and no longer than the time left.
const TIME_TO_PUBLISH: Duration = Duration::from_secs(5);

/// An action for a task that is half dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HealingKind {
    /// What Consul had forgotten of a running task was registered again.
    Repair,
    /// Checks that contradicted ECS were corrected.
    Correction,
    /// A running task without a proxy was drained.
    Drain,
    /// The controller reports the health of a task whose health-sync has stopped.
    Takeover,
    /// A broken task was stopped, so that its service starts another.
    Replacement,
}

/// An action for one task, with what was seen.
#[derive(Debug, Clone)]
pub(crate) struct Healing {
    pub(crate) kind: HealingKind,
    pub(crate) cluster: ClusterArn,
    pub(crate) task_id: String,
    /// The service in Consul.
    pub(crate) service: String,
    pub(crate) reason: String,
    /// What ECS reported.
    pub(crate) in_ecs: String,
    /// What Consul held.
    pub(crate) in_consul: String,
}

impl HealingKind {
    /// The value of `action` in the log.
    pub(crate) fn action(self) -> &'static str {
        match self {
            Self::Repair => "repair",
            Self::Correction => "correct_health",
            Self::Drain => "drain",
            Self::Takeover => "take_over_health_sync",
            Self::Replacement => "replace_task",
        }
    }

    fn counted(self) -> Counted {
        match self {
            Self::Repair => Counted::TasksRepaired,
            Self::Correction => Counted::TasksCorrected,
            Self::Drain => Counted::TasksDrained,
            Self::Takeover => Counted::TasksTakenOver,
            Self::Replacement => Counted::TasksReplaced,
        }
    }

    /// The `detail-type` of the event.
    fn detail_type(self) -> &'static str {
        match self {
            Self::Repair => "ECS Mesh Task Repaired",
            Self::Correction => "ECS Mesh Health Corrected",
            Self::Drain => "ECS Mesh Task Drained",
            Self::Takeover => "ECS Mesh Health Sync Taken Over",
            Self::Replacement => "ECS Mesh Task Replaced",
        }
    }
}

impl Healing {
    /// Counts and logs that the action was done, or only logs that it would have been: as a warning, because something was
    /// wrong.
    fn log(&self, operation: Mode) {
        count(operation, self.kind.counted(), 1);
        let Self { kind, cluster, task_id, service, reason, in_ecs, in_consul } = self;
        let (action, outcome) = (kind.action(), operation.done());
        warn!(action, outcome, cluster_arn = %cluster, task_id, service, reason, in_ecs, in_consul);
    }

    fn event(&self, operation: Mode) -> OwnEvent {
        let detail = json!({
            "mode": operation.as_str(),
            "clusterArn": self.cluster.as_str(),
            "taskId": self.task_id,
            "service": self.service,
            "reason": self.reason,
            "inEcs": self.in_ecs,
            "inConsul": self.in_consul,
        });
        OwnEvent { detail_type: self.kind.detail_type(), detail: detail.to_string() }
    }
}

/// Containers of a task, as ECS reports them.
pub(crate) fn containers_of(containers: &[TaskContainer]) -> String {
    let container = |container: &TaskContainer| {
        let state = if container.is_stopped { "STOPPED" } else { container.health.as_str() };
        format!("{} {state}", container.name)
    };
    containers.iter().map(container).collect::<Vec<_>>().join(", ")
}

/// Announces what was done.
#[derive(Clone)]
pub(crate) struct Announcer {
    pub(crate) events: Arc<dyn EventPublisher>,
    pub(crate) operation: Mode,
}

impl Announcer {
    /// Logs and announces what was done. An event that cannot be sent is logged: the work is done.
    pub(crate) async fn announce(&self, done: &[Healing], deadline: Deadline) {
        for healing in done {
            healing.log(self.operation);
        }
        if done.is_empty() {
            return;
        }
        let events: Vec<OwnEvent> = done.iter().map(|healing| healing.event(self.operation)).collect();
        let reason = match timeout(TIME_TO_PUBLISH.min(deadline.left()), self.events.publish(&events)).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "EventBridge does not answer; in a VPC, the function requires a route to it".to_owned(),
        };
        warn!(action = "publish_events", outcome = "failed", events = events.len(), reason);
    }
}
