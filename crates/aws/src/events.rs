//! The default event bus of `EventBridge`: the controller's own events, for other programs.

use async_trait::async_trait;
use aws_sdk_eventbridge::{Client, types::PutEventsRequestEntry};
use aws_types::SdkConfig;
use futures::{StreamExt, stream};
use report::{Event, OWN_SOURCE};

use crate::sdk::{Lazy, describe, lazy};

/// The most entries in one `PutEvents`.
const MAX_ENTRIES: usize = 10;
/// The largest sum of their sizes, in bytes: `EventBridge` accepts 256 KiB, and adds some bytes to each entry.
const MAX_BYTES: usize = 240_000;
/// The most concurrent calls.
const CONCURRENCY: usize = 8;

/// An error of `EventBridge`.
#[derive(Debug, thiserror::Error)]
#[error("EventBridge: PutEvents failed: {0}")]
pub struct EventsError(pub String);

/// The entry of an event in `PutEvents`.
fn entry(event: &Event) -> PutEventsRequestEntry {
    let resources = event.resource().map(|resource| vec![resource.to_owned()]);
    let entry = PutEventsRequestEntry::builder().source(OWN_SOURCE).detail_type(event.detail_type());
    entry.set_resources(resources).detail(event.detail()).build()
}

fn bytes(entry: &PutEventsRequestEntry) -> usize {
    let texts = [entry.source(), entry.detail_type(), entry.detail(), entry.resources().first().map(String::as_str)];
    texts.into_iter().flatten().map(str::len).sum()
}

/// The entries of each call: as many as its limits allow.
fn batches(entries: &[PutEventsRequestEntry]) -> Vec<&[PutEventsRequestEntry]> {
    let (mut count, mut sum) = (1, entries.first().map_or(0, bytes));
    let batches = entries.chunk_by(|_, next| {
        (count, sum) = (count + 1, sum + bytes(next));
        let fits = count <= MAX_ENTRIES && sum <= MAX_BYTES;
        if !fits {
            (count, sum) = (1, bytes(next));
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
    async fn publish(&self, events: &[Event]) -> Result<(), EventsError>;
}

/// The default event bus of the configuration's region.
pub struct DefaultBus {
    client: Lazy<Client>,
}

impl DefaultBus {
    pub fn new(config: &SdkConfig) -> Self {
        Self { client: lazy(config, Client::new) }
    }

    async fn put(&self, batch: &[PutEventsRequestEntry]) -> Result<(), EventsError> {
        let call = self.client.put_events().set_entries(Some(batch.to_vec()));
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
    async fn publish(&self, events: &[Event]) -> Result<(), EventsError> {
        let entries: Vec<_> = events.iter().map(entry).collect();
        let calls: Vec<_> = batches(&entries).into_iter().map(|batch| self.put(batch)).collect();
        let results: Vec<Result<(), EventsError>> = stream::iter(calls).buffer_unordered(CONCURRENCY).collect().await;
        results.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(number: usize, bytes: usize) -> Vec<usize> {
        let entry = PutEventsRequestEntry::builder().detail("x".repeat(bytes)).build();
        batches(&vec![entry; number]).iter().map(|batch| batch.len()).collect()
    }

    #[test]
    fn call_is_within_the_limits() {
        assert_eq!(sizes(0, 1), Vec::<usize>::new());
        assert_eq!(sizes(23, 1), [10, 10, 3]);
        assert_eq!(sizes(5, 100_000), [2, 2, 1]);
    }
}
