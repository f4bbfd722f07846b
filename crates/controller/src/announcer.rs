//! The controller's own events: collected while an invocation works, and sent at its end, so that no work waits for them.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use aws::events::{EventPublisher, OwnEvent};
use mesh::mode::Mode;
use serde_json::json;
use tokio::time::timeout;
use tracing::warn;

use crate::{announcement::Announcement, counting::count, deadline::Deadline, healing::Healing};

/// How long sending may take, as far as time is left.
const TIME_TO_SEND: Duration = Duration::from_secs(5);
/// How long it may take if none is left: a part of the deadline's reserve.
const RESERVED: Duration = Duration::from_secs(1);

/// Collects and sends the controller's own events.
pub(crate) struct Announcer {
    bus: Arc<dyn EventPublisher>,
    operation: Mode,
    /// Whether the events that belong to the end of every task are sent too.
    sends_routine: bool,
    pending: Mutex<Vec<OwnEvent>>,
}

impl Announcer {
    pub(crate) fn new(bus: &Arc<dyn EventPublisher>, operation: Mode, sends_routine: bool) -> Self {
        Self { bus: Arc::clone(bus), operation, sends_routine, pending: Mutex::default() }
    }

    /// Counts, logs and announces that a task was healed, or only logs and announces that it would have been: as a warning,
    /// because something was wrong.
    pub(crate) fn healed(&self, healing: Healing) {
        count(self.operation, healing.kind.counted(), 1);
        let Healing { kind, cluster, task_id, service, reason, in_ecs, in_consul } = &healing;
        let (action, outcome) = (kind.action(), self.operation.done());
        warn!(action, outcome, cluster_arn = %cluster, task_id, service, reason, in_ecs, in_consul);
        self.announce(&Announcement::Healed(healing));
    }

    /// Adds an event.
    pub(crate) fn announce(&self, announcement: &Announcement) {
        if announcement.is_routine() && !self.sends_routine {
            return;
        }
        let mut detail = announcement.detail();
        detail.insert("mode".to_owned(), json!(self.operation.as_str()));
        let detail = serde_json::Value::Object(detail).to_string();
        let event = OwnEvent { detail_type: announcement.detail_type(), detail };
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
