//! Which events are sent, and what the documentation says of them.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use aws::events::{EventPublisher, EventsError};
use mesh::{holder::TokenHolder, identity::MeshService, settings::Mode, tenancy::Tenancy};
use observe::Deadline;
use report::{CreatedToken, DrainedTask, Event, Healing, RevokedToken, TaskEntries, TrippedGuard};

use super::{Announcer, HealingKind};

const CLUSTER: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/prod";
const TASK: &str = "0123456789abcdef0123456789abcdef";
const ACCESSOR: &str = "6f8d1c0e-6a0b-4f57-9d0f-0d8e1b6a2c11";

/// A bus that keeps what is put on it.
#[derive(Default)]
struct Bus {
    events: Mutex<Vec<Event>>,
}

#[async_trait]
impl EventPublisher for Bus {
    async fn publish(&self, events: &[Event]) -> Result<(), EventsError> {
        self.events.lock().unwrap().extend_from_slice(events);
        Ok(())
    }
}

fn entries() -> TaskEntries {
    TaskEntries {
        node: CLUSTER.to_owned(),
        task_id: TASK.to_owned(),
        service: "web".to_owned(),
        service_ids: vec![format!("web-{TASK}")],
        reason: "a reason".to_owned(),
    }
}

const KINDS: [HealingKind; 4] = [HealingKind::Repair, HealingKind::Correction, HealingKind::Drain, HealingKind::Broken];

/// Announces one of each kind; the first three belong to the end of a task.
fn announce_all(announcer: &Announcer) {
    announcer.announce(Event::TaskDrained, DrainedTask::Stopping(entries()));
    announcer.announce(Event::TaskDeregistered, entries());
    let login = RevokedToken::Login {
        task_id: TASK.to_owned(),
        accessor_id: ACCESSOR.to_owned(),
        reason: "the task has stopped".to_owned(),
    };
    announcer.announce(Event::TokenRevoked, login);
    let tripped = TrippedGuard { cluster_arn: CLUSTER.to_owned(), reason: "too many".to_owned() };
    announcer.announce(Event::GuardTripped, tripped);
    let created = CreatedToken {
        reason: None,
        cluster_arn: CLUSTER.to_owned(),
        holder: "consul-client".to_owned(),
        service: None,
        accessor_id: ACCESSOR.to_owned(),
    };
    announcer.announce(Event::TokenCreated, created);
    let service = MeshService { name: "web".parse().unwrap(), tenancy: Tenancy::Community };
    announcer.revoked(&TokenHolder::Service(service), ACCESSOR.parse().unwrap(), "idle");
    for kind in KINDS {
        let healing = Healing {
            cluster_arn: CLUSTER.to_owned(),
            task_id: TASK.to_owned(),
            service: "web".to_owned(),
            reason: "a reason".to_owned(),
            in_ecs: "RUNNING".to_owned(),
            in_consul: "nothing".to_owned(),
        };
        announcer.healed(kind, healing);
    }
}

/// The events that are sent for all announcements.
async fn sent(mode: Mode, sends_routine: bool) -> Vec<Event> {
    let bus = Arc::new(Bus::default());
    let shared: Arc<dyn EventPublisher> = bus.clone();
    let announcer = Announcer::new(shared, mode, sends_routine);
    announce_all(&announcer);
    assert_eq!(bus.events.lock().unwrap().len(), 0, "nothing is sent before the end of the invocation");
    announcer.send(Deadline::after(std::time::Duration::from_mins(1))).await;
    announcer.send(Deadline::after(std::time::Duration::from_mins(1))).await;
    bus.events.lock().unwrap().clone()
}

#[tokio::test]
async fn every_event_is_sent_once_with_its_mode() {
    for (mode, name) in [(Mode::Act, "act"), (Mode::Observe, "observe")] {
        let events = sent(mode, true).await;
        assert_eq!(events.len(), 10);
        assert!(events.iter().all(|event| event.detail().ends_with(&format!(r#","mode":"{name}"}}"#))), "{events:?}");
    }
}

#[tokio::test]
async fn a_deleted_token_is_announced_with_its_service() {
    let events = sent(Mode::Act, false).await;
    let detail = r#"{"holder":"service web","service":"web","accessorId":"6f8d1c0e-6a0b-4f57-9d0f-0d8e1b6a2c11","reason":"idle","mode":"act"}"#;
    assert!(events.iter().any(|event| event.detail() == detail), "{events:?}");
}

#[tokio::test]
async fn the_end_of_a_task_is_told_only_if_that_is_wanted() {
    let (always, routine) = (sent(Mode::Observe, false).await, sent(Mode::Observe, true).await);
    assert_eq!(always, routine[3..]);
}

#[tokio::test]
async fn the_documentation_names_every_event() {
    let page = include_str!("../../../../docs/reference/events.md");
    for event in sent(Mode::Act, true).await {
        let name = format!("`{}`", event.detail_type());
        assert!(page.contains(&name), "{name}");
    }
}

#[tokio::test]
async fn each_healing_has_its_row_on_the_page_and_is_in_its_query() {
    let page = include_str!("../../../../docs/explanation/healing.md");
    let (_, table) = page.split_once("| `action` in the log |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let spans = |row: &str| row.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<String>>();
    let events = sent(Mode::Act, false).await;
    let in_code: Vec<Vec<String>> = KINDS
        .iter()
        .zip(&events[events.len() - KINDS.len()..])
        .map(|(kind, event)| {
            vec![kind.action().as_str().to_owned(), format!("{:?}", kind.counted()), event.detail_type().to_owned()]
        })
        .collect();
    assert_eq!(rows.map(spans).collect::<BTreeSet<_>>(), in_code.iter().cloned().collect());
    let (_, query) = page.split_once("filter action in [").unwrap();
    for action in in_code.iter().map(|row| &row[0]) {
        assert!(query.split(']').next().unwrap().contains(&format!("\"{action}\"")), "{action}");
    }
}
