//! Every event, and every sample in the documentation, matches the schema.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use aws::events::{EventPublisher, EventsError, OwnEvent};
use mesh::{
    definition::MeshService,
    settings::Mode,
    tenancy::Tenancy,
    token::{AccessorId, TokenHolder},
};
use serde_json::{Value, json};

use super::{Announcement, Announcer, Healing, HealingKind, TaskEntries};
use crate::clock::Deadline;

const CLUSTER: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/prod";
const TASK: &str = "0123456789abcdef0123456789abcdef";

/// A bus that keeps what is put on it.
#[derive(Default)]
struct Bus {
    events: Mutex<Vec<OwnEvent>>,
}

#[async_trait]
impl EventPublisher for Bus {
    async fn publish(&self, events: &[OwnEvent]) -> Result<(), EventsError> {
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
        reason: "a reason",
    }
}

/// One of each kind; the first three are those of a task's end.
fn all() -> Vec<Announcement> {
    let accessor: AccessorId = "6f8d1c0e-6a0b-4f57-9d0f-0d8e1b6a2c11".parse().unwrap();
    let cluster: mesh::arn::ClusterArn = CLUSTER.parse().unwrap();
    let service = MeshService { name: "web".parse().unwrap(), tenancy: Tenancy::Community };
    let holders = [TokenHolder::Service(service), TokenHolder::Client { tenancy: Tenancy::Community }];
    let mut all = vec![
        Announcement::StoppingTaskDrained(entries()),
        Announcement::TaskDeregistered(entries()),
        Announcement::LoginTokenRevoked { task_id: TASK.to_owned(), accessor },
        Announcement::GuardTripped { cluster: CLUSTER.to_owned(), reason: "too many".to_owned() },
    ];
    for holder in holders {
        all.push(Announcement::TokenCreated { holder: holder.clone(), accessor, cluster: cluster.clone() });
        all.push(Announcement::TokenRevoked { holder, accessor, reason: "idle".to_owned() });
    }
    let kinds = [HealingKind::Repair, HealingKind::Correction, HealingKind::Drain, HealingKind::Broken];
    all.extend(kinds.map(|kind| {
        Announcement::Healed(Healing {
            kind,
            cluster: cluster.clone(),
            task_id: TASK.to_owned(),
            service: "web".to_owned(),
            reason: "a reason".to_owned(),
            in_ecs: "RUNNING".to_owned(),
            in_consul: "nothing".to_owned(),
        })
    }));
    all
}

/// The events that are sent for all announcements, as they are on the bus.
async fn sent(mode: Mode, sends_routine: bool) -> Vec<Value> {
    let bus = Arc::new(Bus::default());
    let shared: Arc<dyn EventPublisher> = bus.clone();
    let announcer = Announcer::new(&shared, mode, sends_routine);
    for announcement in all() {
        announcer.announce(&announcement);
    }
    assert_eq!(bus.events.lock().unwrap().len(), 0, "nothing is sent before the end of the invocation");
    announcer.send(Deadline::after(std::time::Duration::from_mins(1))).await;
    announcer.send(Deadline::after(std::time::Duration::from_mins(1))).await;
    let events = bus.events.lock().unwrap();
    let value = |event: &OwnEvent| {
        let detail: Value = serde_json::from_str(&event.detail).unwrap();
        json!({ "source": "ecs-mesh-controller", "detail-type": event.detail_type, "detail": detail })
    };
    events.iter().map(value).collect()
}

fn assert_valid(document: &Value) {
    let schema = serde_json::from_str(include_str!("../../../../docs/schema/event.schema.json")).unwrap();
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(document).map(|error| error.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new(), "{document:#}");
}

#[tokio::test]
async fn every_event_matches_the_schema_once() {
    let events = sent(Mode::Act, true).await;
    assert_eq!(events.len(), all().len());
    for event in &events {
        assert_valid(event);
        assert_eq!(event["detail"]["mode"], "act");
    }
}

#[tokio::test]
async fn the_end_of_a_task_is_told_only_if_that_is_wanted() {
    let (always, routine) = (sent(Mode::Observe, false).await, sent(Mode::Observe, true).await);
    assert_eq!(always, routine[3..]);
    assert!(routine.iter().all(|event| event["detail"]["mode"] == "observe"));
}

#[test]
fn the_samples_in_the_documentation_match_the_schema() {
    let page = include_str!("../../../../docs/events.md");
    let samples: Vec<&str> = page.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(!samples.is_empty());
    for sample in samples {
        assert_valid(&serde_json::from_str(sample).unwrap());
    }
}

#[test]
fn the_documentation_names_every_event() {
    let page = include_str!("../../../../docs/events.md");
    for announcement in all() {
        let name = format!("`{}`", announcement.detail_type());
        assert!(page.contains(&name), "{name}");
    }
}

#[test]
fn each_healing_has_its_row_on_the_page_and_is_in_its_query() {
    let page = include_str!("../../../../docs/healing.md");
    let (_, table) = page.split_once("| `action` in the log |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let spans = |row: &str| row.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<String>>();
    let kinds = [HealingKind::Repair, HealingKind::Correction, HealingKind::Drain, HealingKind::Broken];
    let in_code = kinds.map(|kind| {
        let (action, metric) = (kind.action().as_str().to_owned(), format!("{:?}", kind.counted()));
        vec![action, metric, kind.detail_type().to_owned()]
    });
    assert_eq!(rows.map(spans).collect::<BTreeSet<_>>(), BTreeSet::from(in_code.clone()));
    let (_, query) = page.split_once("filter action in [").unwrap();
    for action in in_code.iter().map(|row| &row[0]) {
        assert!(query.split(']').next().unwrap().contains(&format!("\"{action}\"")), "{action}");
    }
}
