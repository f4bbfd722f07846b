//! The auditor's edges in memory, with faults on demand.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use aws::{
    ecs::{EcsError, Inventory, RunningService},
    events::{EventPublisher, EventsError},
};
use report::Event;
use serde_json::{Value, json};

use crate::{
    announce::{AnnounceError, Message, Topic},
    order::Invocation,
    report_store::{ReportStore, StoreError, Stored, Version},
};

/// An invocation at ten o'clock.
pub(crate) fn invocation(id: &str) -> Invocation {
    Invocation { id: id.to_owned(), now: "2026-11-21T10:00:00Z".parse().unwrap() }
}

/// The ARN of revision 7 of a family.
pub(crate) fn arn(family: &str) -> String {
    format!("arn:aws:ecs:us-east-1:123456789012:task-definition/{family}:7")
}

/// An account with one cluster, `prod`, that runs revision 7 of each family.
#[derive(Default)]
pub(crate) struct Account {
    definitions: BTreeMap<String, Value>,
    /// The definitions that were described.
    pub(crate) described: Mutex<Vec<String>>,
}

impl Account {
    /// Adds a revision, as `DescribeTaskDefinition` answers it.
    pub(crate) fn with(self, answer: Value) -> Self {
        let arn = answer["taskDefinition"]["taskDefinitionArn"].as_str().unwrap().to_owned();
        self.answering(arn, answer)
    }

    /// Adds an answer to `DescribeTaskDefinition`, which need not have a definition.
    pub(crate) fn answering(mut self, arn: String, answer: Value) -> Self {
        self.definitions.insert(arn, answer);
        self
    }

    /// Adds a family whose app depends on missing containers: one finding for each.
    pub(crate) fn with_mistakes(mut self, family: &str, missing: &[&str]) -> Self {
        let waits: Vec<Value> =
            missing.iter().map(|name| json!({ "containerName": name, "condition": "START" })).collect();
        let definition = json!({
            "taskDefinitionArn": arn(family), "family": family, "revision": 7,
            "containerDefinitions": [{ "name": "app", "image": "app:1", "essential": true, "dependsOn": waits }],
        });
        self.definitions.insert(arn(family), json!({ "taskDefinition": definition, "tags": [] }));
        self
    }
}

#[async_trait]
impl Inventory for Account {
    async fn clusters(&self) -> Result<Vec<String>, EcsError> {
        Ok(["prod", "test"].map(|name| format!("arn:aws:ecs:us-east-1:123456789012:cluster/{name}")).to_vec())
    }

    async fn services(&self, cluster: &str, _: &[String]) -> Result<(Vec<RunningService>, Vec<EcsError>), EcsError> {
        if cluster.ends_with("prod") {
            return Ok((Vec::new(), Vec::new()));
        }
        Err(EcsError::Failed {
            subject: format!("services of cluster {cluster}"),
            reason: "no such cluster".to_owned(),
        })
    }

    async fn running_definitions(&self, _: &str) -> Result<BTreeSet<String>, EcsError> {
        Ok(self.definitions.keys().cloned().collect())
    }

    async fn families(&self) -> Result<Vec<String>, EcsError> {
        Ok(Vec::new())
    }

    async fn newest_revision(&self, family: &str) -> Result<Option<String>, EcsError> {
        Ok(self.definitions.contains_key(&arn(family)).then(|| arn(family)))
    }

    async fn describe_definition(&self, name: &str) -> Result<Value, EcsError> {
        self.described.lock().unwrap().push(name.to_owned());
        let named = |(arn, _): &(&String, &Value)| *arn == name || arn.ends_with(&format!("/{name}"));
        let found = self.definitions.iter().find(named).map(|(_, definition)| definition.clone());
        found.ok_or_else(|| EcsError::Failed { subject: name.to_owned(), reason: "ECS does not know it".to_owned() })
    }
}

#[derive(Default)]
pub(crate) struct Bucket {
    objects: Mutex<BTreeMap<String, Stored>>,
    writes: Mutex<usize>,
    /// The text that another writer writes after the next read.
    pub(crate) concurrent_write: Mutex<Option<String>>,
    /// Whether writes fail.
    pub(crate) is_down: AtomicBool,
}

impl Bucket {
    /// The text of an object.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.objects.lock().unwrap().get(key).map(|stored| stored.text.clone())
    }

    /// The keys of all objects.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.objects.lock().unwrap().keys().cloned().collect()
    }

    fn write(&self, operation: &'static str, key: &str, text: String) -> Result<Version, StoreError> {
        if self.is_down.load(Ordering::SeqCst) {
            return Err(StoreError::new(operation, key, "the bucket is down"));
        }
        let mut writes = self.writes.lock().unwrap();
        *writes += 1;
        let version = Version(format!("\"{writes}\""));
        self.objects.lock().unwrap().insert(key.to_owned(), Stored { text, version: version.clone() });
        Ok(version)
    }
}

#[async_trait]
impl ReportStore for Bucket {
    fn bucket(&self) -> &'static str {
        "the-bucket"
    }

    async fn put_report(&self, key: &str, text: String, _: &str) -> Result<(), StoreError> {
        self.write("PutObject", key, text).map(drop)
    }

    async fn link(&self, key: &str) -> Result<String, StoreError> {
        Ok(format!("https://the-bucket/{key}?signed"))
    }

    async fn create(&self, key: &str, text: String) -> Result<Option<Version>, StoreError> {
        if self.text(key).is_some() { Ok(None) } else { self.write("PutObject", key, text).map(Some) }
    }

    async fn read(&self, key: &str) -> Result<Stored, StoreError> {
        let stored = self.objects.lock().unwrap().get(key).cloned();
        let concurrent_write = self.concurrent_write.lock().unwrap().take();
        if let Some(text) = concurrent_write {
            self.write("PutObject", key, text)?;
        }
        stored.ok_or_else(|| StoreError::new("GetObject", key, "no such key"))
    }

    async fn replace(&self, key: &str, text: String, seen: &Version) -> Result<Option<Version>, StoreError> {
        let is_current = self.objects.lock().unwrap().get(key).is_some_and(|stored| stored.version == *seen);
        if is_current { self.write("PutObject", key, text).map(Some) } else { Ok(None) }
    }
}

/// An announcer that records messages and events.
#[derive(Default)]
pub(crate) struct RecordingAnnouncer {
    pub(crate) messages: Mutex<Vec<Message>>,
    pub(crate) events: Mutex<Vec<Event>>,
    pub(crate) is_topic_down: AtomicBool,
    pub(crate) is_bus_down: AtomicBool,
}

impl RecordingAnnouncer {
    /// The messages of the recorded events.
    pub(crate) fn announced_messages(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let message = |event: &Event| match event {
            Event::AuditFinding(finding) => finding.message.clone(),
            other => panic!("{other:?}"),
        };
        events.iter().map(message).collect()
    }
}

#[async_trait]
impl Topic for RecordingAnnouncer {
    async fn notify(&self, message: &Message) -> Result<(), AnnounceError> {
        if self.is_topic_down.load(Ordering::SeqCst) {
            return Err(AnnounceError::new("Publish", "the topic is down"));
        }
        self.messages.lock().unwrap().push(message.clone());
        Ok(())
    }
}

#[async_trait]
impl EventPublisher for RecordingAnnouncer {
    async fn publish(&self, events: &[Event]) -> Result<(), EventsError> {
        if self.is_bus_down.load(Ordering::SeqCst) {
            return Err(EventsError("the bus is down".to_owned()));
        }
        self.events.lock().unwrap().extend_from_slice(events);
        Ok(())
    }
}
