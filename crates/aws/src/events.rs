//! The default event bus of `EventBridge`: the controller's own events, for other programs.

use async_trait::async_trait;
use aws_sdk_eventbridge::{Client, types::PutEventsRequestEntry};
use aws_types::SdkConfig;
use futures::{StreamExt, stream};

use crate::sdk::describe;

/// The `source` of the controller's own events.
pub const OWN_SOURCE: &str = "ecs-mesh-controller";
/// The most entries in one `PutEvents`. The events of one call are far smaller than its limit of 256 KiB.
const MAX_ENTRIES: usize = 10;
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
    /// Its `detail`, in JSON.
    pub detail: String,
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
}

#[async_trait]
impl EventPublisher for DefaultBus {
    async fn publish(&self, events: &[OwnEvent]) -> Result<(), EventsError> {
        let calls: Vec<_> = events.chunks(MAX_ENTRIES).map(|batch| self.put(batch)).collect();
        let results: Vec<Result<(), EventsError>> = stream::iter(calls).buffer_unordered(CONCURRENCY).collect().await;
        results.into_iter().collect()
    }
}

impl DefaultBus {
    async fn put(&self, batch: &[OwnEvent]) -> Result<(), EventsError> {
        let entry = |event: &OwnEvent| {
            let entry = PutEventsRequestEntry::builder().source(OWN_SOURCE).detail_type(event.detail_type);
            entry.detail(&event.detail).build()
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
