//! What the controller tells other programs: events (`docs/reference/events.md`), and the metrics and log lines of healing. Events are
//! collected while an invocation works, and sent at its end, so that no work waits for them.

#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use aws::events::EventPublisher;
use mesh::{holder::TokenHolder, member::MemberTask, settings::Mode, task::TaskContainer, token::AccessorId};
use observe::Deadline;
use report::{DrainedTask, Event, Healing, InMode, LogAction, LogLine, RevokedToken};
use telemetry::Counted;
use tokio::time::timeout;
use tracing::warn;

/// Whether an event belongs to the end of every task.
fn is_routine(event: &Event) -> bool {
    match event {
        Event::TaskDrained(drained) => matches!(drained.detail, DrainedTask::Stopping(_)),
        Event::TokenRevoked(revoked) => matches!(revoked.detail, RevokedToken::Login { .. }),
        Event::TaskDeregistered(_) => true,
        _ => false,
    }
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
}

/// What is announced of a running task: with its containers as ECS reports them.
pub(crate) fn healing(running: &MemberTask, service: &str, reason: &str, in_consul: String) -> Healing {
    Healing {
        cluster_arn: running.cluster.to_string(),
        task_id: running.task.arn.id().to_string(),
        service: service.to_owned(),
        reason: reason.to_owned(),
        in_ecs: containers_of(&running.task.containers),
        in_consul,
    }
}

fn containers_of(containers: &[TaskContainer]) -> String {
    let container = |container: &TaskContainer| {
        let state = if container.is_stopped { "STOPPED" } else { container.health.as_str() };
        format!("{} {state}", container.name)
    };
    containers.iter().map(container).collect::<Vec<_>>().join(", ")
}

/// How long sending may take, if time is left.
const TIME_TO_SEND: Duration = Duration::from_secs(5);
/// How long it may take after the deadline: a part of the deadline's reserve.
const RESERVED: Duration = Duration::from_secs(1);

/// Collects and sends the controller's own events.
pub(crate) struct Announcer {
    bus: Arc<dyn EventPublisher>,
    mode: Mode,
    /// Whether the events that belong to the end of every task are sent too.
    sends_routine: bool,
    pending: Mutex<Vec<Event>>,
}

impl Announcer {
    pub(crate) fn new(bus: Arc<dyn EventPublisher>, mode: Mode, sends_routine: bool) -> Self {
        Self { bus, mode, sends_routine, pending: Mutex::default() }
    }

    /// Counts, logs and announces that a task was healed, or only logs and announces that it would have been: as a warning,
    /// because something was wrong.
    pub(crate) fn healed(&self, kind: HealingKind, healing: Healing) {
        count(self.mode, kind.counted(), 1);
        let Healing { cluster_arn, task_id, service, reason, in_ecs, in_consul } = healing.clone();
        LogLine {
            cluster_arn: Some(cluster_arn),
            task_id: Some(task_id),
            service: Some(service),
            reason: Some(reason),
            in_ecs: Some(in_ecs),
            in_consul: Some(in_consul),
            ..LogLine::of(kind.action(), self.mode)
        }
        .warn();
        match kind {
            HealingKind::Repair => self.announce(Event::TaskRepaired, healing),
            HealingKind::Correction => self.announce(Event::HealthCorrected, healing),
            HealingKind::Drain => self.announce(Event::TaskDrained, DrainedTask::ProxyStopped(healing)),
            HealingKind::Broken => self.announce(Event::TaskBroken, healing),
        }
    }

    /// Adds an event.
    pub(crate) fn announce<D>(&self, event: fn(InMode<D>) -> Event, detail: D) {
        let event = event(InMode { detail, mode: self.mode });
        if self.sends_routine || !is_routine(&event) {
            self.pending.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        }
    }

    /// Announces that the token of a service or of the client agents was deleted.
    pub(crate) fn revoked(&self, holder: &TokenHolder, accessor: AccessorId, reason: &str) {
        let revoked = RevokedToken::Provisioned {
            holder: holder.to_string(),
            service: holder.service().map(|service| service.name.to_string()),
            accessor_id: accessor.to_string(),
            reason: reason.to_owned(),
        };
        self.announce(Event::TokenRevoked, revoked);
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
            Err(_) if limit < TIME_TO_SEND => "the invocation ran out of time".to_owned(),
            Err(_) => "EventBridge does not answer. In a VPC, the function needs a route to EventBridge".to_owned(),
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
