//! The default event bus of `EventBridge`: the controller's own events, for other programs.

use async_trait::async_trait;
use aws_sdk_eventbridge::{Client, types::PutEventsRequestEntry};
use aws_types::SdkConfig;
use futures::{StreamExt, stream};

use crate::sdk::describe;

/// The `source` of the controller's own events, and of its messages to itself.
pub const OWN_SOURCE: &str = "ecs-mesh-controller";
/// The most entries in one `PutEvents`.
const MAX_ENTRIES: usize = 10;
/// The largest sum of their sizes, in bytes: `EventBridge` accepts 256 KiB, and adds some bytes to each entry.
const MAX_BYTES: usize = 240_000;
/// The most concurrent calls.
const CONCURRENCY: usize = 8;

/// An error of `EventBridge`.
#[derive(Debug, thiserror::Error)]
#[error("EventBridge: PutEvents failed: {0}")]
pub struct EventsError(String);

/// An event of the controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnEvent {
    pub detail_type: &'static str,
    /// The ARN of what the event is about.
    pub resource: Option<String>,
    /// Its `detail`, in JSON.
    pub detail: String,
}

impl OwnEvent {
    fn bytes(&self) -> usize {
        let resource = self.resource.as_ref().map_or(0, String::len);
        self.detail.len() + resource + self.detail_type.len() + OWN_SOURCE.len()
    }
}

/// The events of each call: as many as its limits allow.
fn batches(events: &[OwnEvent]) -> Vec<&[OwnEvent]> {
    let (mut count, mut bytes) = (1, events.first().map_or(0, OwnEvent::bytes));
    let batches = events.chunk_by(|_, next| {
        (count, bytes) = (count + 1, bytes + next.bytes());
        let fits = count <= MAX_ENTRIES && bytes <= MAX_BYTES;
        if !fits {
            (count, bytes) = (1, next.bytes());
        }
        fits
    });
    batches.collect()
}

#[async_trait]
pub trait EventPublisher: Send + Sync {
    /// Puts events on the bus.
    ///
    /// # Errors
    /// At least one event was not accepted; others may have been.
    async fn publish(&self, events: &[OwnEvent]) -> Result<(), EventsError>;
}

/// The default event bus of the configuration's region.
pub struct DefaultBus {
    client: Client,
}

impl DefaultBus {
    pub fn new(config: &SdkConfig) -> Self {
        Self { client: Client::new(config) }
    }

    async fn put(&self, batch: &[OwnEvent]) -> Result<(), EventsError> {
        let entry = |event: &OwnEvent| {
            let entry = PutEventsRequestEntry::builder().source(OWN_SOURCE).detail_type(event.detail_type);
            entry.set_resources(event.resource.clone().map(|resource| vec![resource])).detail(&event.detail).build()
        };
        let call = self.client.put_events().set_entries(Some(batch.iter().map(entry).collect()));
        let answer = call.send().await.map_err(|e| EventsError(describe(&e)))?;
        // The call succeeds even if entries fail.
        match answer.entries().iter().find(|entry| entry.error_code().is_some()) {
            Some(refused) => {
                let reason = refused.error_message().or(refused.error_code()).unwrap_or_default();
                Err(EventsError(reason.to_owned()))
            }
            None => Ok(()),
        }
    }
}

#[async_trait]
impl EventPublisher for DefaultBus {
    async fn publish(&self, events: &[OwnEvent]) -> Result<(), EventsError> {
        let calls: Vec<_> = batches(events).into_iter().map(|batch| self.put(batch)).collect();
        let results: Vec<Result<(), EventsError>> = stream::iter(calls).buffer_unordered(CONCURRENCY).collect().await;
        results.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(number: usize, bytes: usize) -> Vec<usize> {
        let event = OwnEvent { detail_type: "x", resource: None, detail: "x".repeat(bytes) };
        batches(&vec![event; number]).iter().map(|batch| batch.len()).collect()
    }

    #[test]
    fn call_is_within_the_limits() {
        assert_eq!(sizes(0, 1), Vec::<usize>::new());
        assert_eq!(sizes(23, 1), [10, 10, 3]);
        assert_eq!(sizes(5, 100_000), [2, 2, 1]);
    }
}
