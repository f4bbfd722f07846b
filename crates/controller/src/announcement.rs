//! What the controller tells other programs: events (`docs/events.md`), and the metrics and log lines of healing. Events are
//! collected while an invocation works, and sent at its end, so that no work waits for them.

#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use aws::events::{EventPublisher, OwnEvent};
use mesh::{
    arn::ClusterArn,
    settings::Mode,
    task::TaskContainer,
    token::{AccessorId, TokenHolder},
};
use report::{LogAction, LogLine};
use serde_json::{Map, Value, json};
use telemetry::Counted;
use tokio::time::timeout;
use tracing::warn;

use crate::clock::Deadline;

/// Something that was done, or that only a person can decide.
pub(crate) enum Announcement {
    /// A task that was healed or drained, or that is broken, while it was meant to run.
    Healed(Healing),
    /// The instances of a task that ECS told to stop were drained.
    StoppingTaskDrained(TaskEntries),
    /// The instances of a stopped task were deregistered.
    TaskDeregistered(TaskEntries),
    /// A login token of a stopped task was deleted.
    LoginTokenRevoked { task_id: String, accessor: AccessorId },
    /// A token of a service or of the client agents was created.
    TokenCreated { holder: TokenHolder, accessor: AccessorId, cluster: ClusterArn },
    /// A token of a service or of the client agents was deleted.
    TokenRevoked { holder: TokenHolder, accessor: AccessorId, reason: String },
    /// A sweep has held deletions or corrections of a cluster back.
    GuardTripped { cluster: String, reason: String },
}

/// Instances of one task in Consul's catalog.
pub(crate) struct TaskEntries {
    /// The catalog node: the cluster's ARN, or the name of a client agent.
    pub(crate) node: String,
    pub(crate) task_id: String,
    /// The service's name.
    pub(crate) service: String,
    /// The IDs of the instances, a sidecar proxy's included.
    pub(crate) service_ids: Vec<String>,
    /// Why they were drained or deregistered.
    pub(crate) reason: &'static str,
}

impl Announcement {
    /// The `detail-type` of the event.
    pub(crate) fn detail_type(&self) -> &'static str {
        match self {
            Self::Healed(healing) => healing.kind.detail_type(),
            Self::StoppingTaskDrained(_) => "ECS Mesh Task Drained",
            Self::TaskDeregistered(_) => "ECS Mesh Task Deregistered",
            Self::TokenCreated { .. } => "ECS Mesh Token Created",
            Self::LoginTokenRevoked { .. } | Self::TokenRevoked { .. } => "ECS Mesh Token Revoked",
            Self::GuardTripped { .. } => "ECS Mesh Guard Tripped",
        }
    }

    /// Whether it belongs to the end of every task.
    fn is_routine(&self) -> bool {
        matches!(self, Self::StoppingTaskDrained(_) | Self::TaskDeregistered(_) | Self::LoginTokenRevoked { .. })
    }

    /// The `detail` of the event, without the mode.
    pub(crate) fn detail(&self) -> Map<String, Value> {
        let detail = match self {
            Self::Healed(healing) => healing.detail(),
            Self::StoppingTaskDrained(entries) | Self::TaskDeregistered(entries) => entries.detail(),
            Self::LoginTokenRevoked { task_id, accessor } => json!({
                "taskId": task_id,
                "accessorId": accessor.to_string(),
                "reason": "the task has stopped",
            }),
            Self::TokenCreated { holder, accessor, cluster } => json!({
                "clusterArn": cluster.as_str(),
                "holder": holder.to_string(),
                "service": service_of(holder),
                "accessorId": accessor.to_string(),
            }),
            Self::TokenRevoked { holder, accessor, reason } => json!({
                "holder": holder.to_string(),
                "service": service_of(holder),
                "accessorId": accessor.to_string(),
                "reason": reason,
            }),
            Self::GuardTripped { cluster, reason } => json!({ "clusterArn": cluster, "reason": reason }),
        };
        match detail {
            Value::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect(),
            _ => Map::new(),
        }
    }
}

impl TaskEntries {
    fn detail(&self) -> Value {
        json!({
            "node": self.node,
            "taskId": self.task_id,
            "service": self.service,
            "serviceIds": self.service_ids,
            "reason": self.reason,
        })
    }
}

fn service_of(holder: &TokenHolder) -> Option<&str> {
    holder.service().map(|service| service.name.as_str())
}

/// An action for a task that is half dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HealingKind {
    /// What Consul lacked of a running task was registered again.
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
    pub(crate) fn action(self) -> LogAction {
        match self {
            Self::Repair => LogAction::Repair,
            Self::Correction => LogAction::CorrectHealth,
            Self::Drain => LogAction::Drain,
            Self::Broken => LogAction::ReportBrokenTask,
        }
    }

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

/// How long sending may take, if time is left.
const TIME_TO_SEND: Duration = Duration::from_secs(5);
/// How long it may take if none is left: a part of the deadline's reserve.
const RESERVED: Duration = Duration::from_secs(1);

/// Collects and sends the controller's own events.
pub(crate) struct Announcer {
    bus: Arc<dyn EventPublisher>,
    mode: Mode,
    /// Whether the events that belong to the end of every task are sent too.
    sends_routine: bool,
    pending: Mutex<Vec<OwnEvent>>,
}

impl Announcer {
    pub(crate) fn new(bus: &Arc<dyn EventPublisher>, mode: Mode, sends_routine: bool) -> Self {
        Self { bus: Arc::clone(bus), mode, sends_routine, pending: Mutex::default() }
    }

    /// Counts, logs and announces that a task was healed, or only logs and announces that it would have been: as a warning,
    /// because something was wrong.
    pub(crate) fn healed(&self, healing: Healing) {
        count(self.mode, healing.kind.counted(), 1);
        let Healing { kind, cluster, task_id, service, reason, in_ecs, in_consul } = healing.clone();
        LogLine {
            cluster_arn: Some(cluster.to_string()),
            task_id: Some(task_id),
            service: Some(service),
            reason: Some(reason),
            in_ecs: Some(in_ecs),
            in_consul: Some(in_consul),
            ..LogLine::of(kind.action(), self.mode)
        }
        .warn();
        self.announce(&Announcement::Healed(healing));
    }

    /// Adds an event.
    pub(crate) fn announce(&self, announcement: &Announcement) {
        if announcement.is_routine() && !self.sends_routine {
            return;
        }
        let mut detail = announcement.detail();
        detail.insert("mode".to_owned(), json!(self.mode.as_str()));
        let detail = serde_json::Value::Object(detail).to_string();
        let event = OwnEvent { detail_type: announcement.detail_type(), resource: None, detail };
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// Sends what was added. What cannot be sent is logged, and not sent again: the work that it tells of is done, and has
    /// its own line.
    pub(crate) async fn send(&self, deadline: Deadline) {
        let events = std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner));
        if events.is_empty() {
            return;
        }
        let limit = deadline.left().clamp(RESERVED, TIME_TO_SEND);
        let reason = match timeout(limit, self.bus.publish(&events)).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) if limit < TIME_TO_SEND => "the time of the invocation has run out".to_owned(),
            Err(_) => "EventBridge does not answer; in a VPC, the function requires a route to it".to_owned(),
        };
        warn!(action = "publish_events", outcome = "failed", events = events.len(), reason);
    }
}

/// Counts what was done: in mode `observe`, nothing was.
pub(crate) fn count(mode: Mode, counted: Counted, number: usize) {
    if mode.acts() {
        counted.add(number);
    }
}
