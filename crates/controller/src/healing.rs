//! What the controller does for tasks that are half dead, or cannot do: each action is one log line, one count of a metric, and
//! one event.

use mesh::{arn::ClusterArn, task::TaskContainer};
use serde_json::{Value, json};
use telemetry::Counted;

/// An action for a task that is half dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HealingKind {
    /// What Consul had forgotten of a running task was registered again.
    Repair,
    /// Checks that contradicted ECS were corrected.
    Correction,
    /// A running task without a proxy was drained.
    Drain,
    /// A broken task was found, which only a person can replace.
    Broken,
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
            Self::Broken => "report_broken_task",
        }
    }

    /// What counts it.
    pub(crate) fn counted(self) -> Counted {
        match self {
            Self::Repair => Counted::TasksRepaired,
            Self::Correction => Counted::TasksCorrected,
            Self::Drain => Counted::TasksDrained,
            Self::Broken => Counted::TasksBroken,
        }
    }

    /// The `detail-type` of the event.
    pub(crate) fn detail_type(self) -> &'static str {
        match self {
            Self::Repair => "ECS Mesh Task Repaired",
            Self::Correction => "ECS Mesh Health Corrected",
            Self::Drain => "ECS Mesh Task Drained",
            Self::Broken => "ECS Mesh Task Broken",
        }
    }
}

impl Healing {
    /// The `detail` of the event.
    pub(crate) fn detail(&self) -> Value {
        json!({
            "clusterArn": self.cluster.as_str(),
            "taskId": self.task_id,
            "service": self.service,
            "reason": self.reason,
            "inEcs": self.in_ecs,
            "inConsul": self.in_consul,
        })
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
