//! Announcements of findings: an SNS topic for people, the default event bus of `EventBridge` for programs.

use async_trait::async_trait;
use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use aws_sdk_sns::types::MessageAttributeValue;
use aws_types::SdkConfig;
use serde_json::Value;

use aws::sdk::describe;

/// The `source` of the events.
pub(crate) const SOURCE: &str = "ecs-mesh-controller";
/// The `detail-type` of the events.
pub(crate) const DETAIL_TYPE: &str = "ECS Mesh Audit Finding";
/// The message attribute for filters of subscriptions.
const SEVERITY: &str = "severity";

/// The most entries in one `PutEvents`.
const MAX_ENTRIES: usize = 10;
/// The largest sum of their sizes, in bytes: `EventBridge` accepts 256 KiB, and adds some bytes to each entry.
const MAX_BYTES: usize = 240_000;

/// An announcement that could not be published.
#[derive(Debug, thiserror::Error)]
#[error("announcing: {subject} failed: {reason}")]
pub struct AnnounceError {
    subject: &'static str,
    reason: String,
}

impl AnnounceError {
    /// `subject`, the AWS operation, failed.
    pub fn new(subject: &'static str, reason: impl Into<String>) -> Self {
        Self { subject, reason: reason.into() }
    }
}

/// A message to the subscribers of the topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its subject: ASCII in one line, at most 100 characters.
    pub subject: String,
    /// Its text, at most 256 KiB.
    pub text: String,
    /// The highest severity in it.
    pub severity: &'static str,
}

/// An event about one finding.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The ARN of the task definition.
    pub resource: String,
    /// The finding.
    pub detail: Value,
}

/// The publication of announcements.
#[async_trait]
pub trait Announcer: Send + Sync {
    /// Publishes a message to the subscribers.
    async fn notify(&self, message: &Message) -> Result<(), AnnounceError>;

    /// Puts events on the bus.
    ///
    /// # Errors
    /// At least one event was rejected; others may have been accepted.
    async fn emit(&self, events: &[Event]) -> Result<(), AnnounceError>;
}

/// An SNS topic, and the default event bus.
pub struct AwsAnnouncer {
    topics: aws_sdk_sns::Client,
    buses: aws_sdk_eventbridge::Client,
    topic_arn: String,
}

impl AwsAnnouncer {
    /// The topic with this ARN, and the bus of the configuration's region.
    pub fn new(config: &SdkConfig, topic_arn: String) -> Self {
        let (topics, buses) = (aws_sdk_sns::Client::new(config), aws_sdk_eventbridge::Client::new(config));
        Self { topics, buses, topic_arn }
    }
}

#[async_trait]
impl Announcer for AwsAnnouncer {
    async fn notify(&self, message: &Message) -> Result<(), AnnounceError> {
        let subject = "Publish";
        let severity = MessageAttributeValue::builder().data_type("String").string_value(message.severity).build();
        let call = self
            .topics
            .publish()
            .topic_arn(&self.topic_arn)
            .subject(&message.subject)
            .message(&message.text)
            .message_attributes(SEVERITY, severity.map_err(|e| AnnounceError::new(subject, describe(&e)))?);
        call.send().await.map(drop).map_err(|e| AnnounceError::new(subject, describe(&e)))
    }

    async fn emit(&self, events: &[Event]) -> Result<(), AnnounceError> {
        let subject = "PutEvents";
        for batch in batches(events) {
            let call = self.buses.put_events().set_entries(Some(batch));
            let answer = call.send().await.map_err(|e| AnnounceError::new(subject, describe(&e)))?;
            // The call succeeds even if entries fail.
            if let Some(refused) = answer.entries().iter().find(|entry| entry.error_code().is_some()) {
                let reason = refused.error_message().or(refused.error_code()).unwrap_or_default();
                return Err(AnnounceError::new(subject, reason));
            }
            if answer.failed_entry_count() > 0 {
                return Err(AnnounceError::new(subject, format!("{} entries", answer.failed_entry_count())));
            }
        }
        Ok(())
    }
}

/// Splits the events into the fewest calls within the limits of `EventBridge`.
fn batches(events: &[Event]) -> Vec<Vec<PutEventsRequestEntry>> {
    let mut batches: Vec<Vec<PutEventsRequestEntry>> = Vec::new();
    let mut bytes = 0;
    for event in events {
        let detail = event.detail.to_string();
        let size = detail.len() + event.resource.len() + SOURCE.len() + DETAIL_TYPE.len();
        let entry = PutEventsRequestEntry::builder().source(SOURCE).detail_type(DETAIL_TYPE).resources(&event.resource);
        let entry = entry.detail(detail).build();
        match batches.last_mut() {
            Some(batch) if batch.len() < MAX_ENTRIES && bytes + size <= MAX_BYTES => {
                bytes += size;
                batch.push(entry);
            }
            _ => {
                bytes = size;
                batches.push(vec![entry]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn events(number: usize, text: &str) -> Vec<Event> {
        vec![Event { resource: "arn".to_owned(), detail: json!({ "message": text }) }; number]
    }

    fn sizes(events: &[Event]) -> Vec<usize> {
        batches(events).iter().map(Vec::len).collect()
    }

    #[test]
    fn call_has_at_most_ten_entries() {
        assert_eq!(sizes(&[]), Vec::<usize>::new());
        assert_eq!(sizes(&events(23, "short")), [10, 10, 3]);
    }

    #[test]
    fn call_is_within_the_size_limit() {
        assert_eq!(sizes(&events(5, &"x".repeat(100_000))), [2, 2, 1]);
    }
}
