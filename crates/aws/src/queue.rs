//! The function's own SQS queue: delayed checks, and the return of failed messages.

use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_sqs::{
    Client,
    types::{BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry, SendMessageBatchRequestEntry},
};
use aws_types::SdkConfig;
use futures::future::try_join_all;

use crate::sdk::describe;

/// The most entries in one batch call.
const BATCH_LIMIT: usize = 10;

/// An error of SQS.
#[derive(Debug, thiserror::Error)]
#[error("queue: {subject} failed: {reason}")]
pub struct QueueError {
    /// The API action.
    pub subject: &'static str,
    /// The cause.
    pub reason: String,
}

/// Sends messages to the queue.
#[async_trait]
pub trait MessageSender: Send + Sync {
    /// Sends messages that arrive after `delay`.
    async fn send_later(&self, bodies: &[String], delay: Duration) -> Result<(), QueueError>;
}

/// Returns received messages to the queue.
#[async_trait]
pub trait MessageVisibility: Send + Sync {
    /// Returns received messages, by receipt handle, to the queue after the given delay instead of the visibility
    /// timeout.
    async fn return_after(&self, messages: &[(String, Duration)]) -> Result<(), QueueError>;
}

/// An SQS queue.
pub struct SqsQueue {
    client: Client,
    url: String,
}

impl SqsQueue {
    /// The queue at `url`.
    pub fn new(config: &SdkConfig, url: String) -> Self {
        Self { client: Client::new(config), url }
    }
}

#[async_trait]
impl MessageSender for SqsQueue {
    async fn send_later(&self, bodies: &[String], delay: Duration) -> Result<(), QueueError> {
        let subject = "SendMessageBatch";
        for chunk in bodies.chunks(BATCH_LIMIT) {
            let entries = chunk.iter().enumerate().map(|(index, body)| {
                let entry = SendMessageBatchRequestEntry::builder().id(index.to_string()).message_body(body);
                entry.delay_seconds(seconds(delay)).build().map_err(|e| failed(subject, &e))
            });
            let entries = entries.collect::<Result<Vec<_>, _>>()?;
            let call = self.client.send_message_batch().queue_url(&self.url).set_entries(Some(entries));
            let answer = call.send().await.map_err(|e| failed(subject, &e))?;
            all_accepted(subject, answer.failed())?;
        }
        Ok(())
    }
}

#[async_trait]
impl MessageVisibility for SqsQueue {
    async fn return_after(&self, messages: &[(String, Duration)]) -> Result<(), QueueError> {
        let subject = "ChangeMessageVisibilityBatch";
        let calls = messages.chunks(BATCH_LIMIT).map(async |chunk| {
            let entries = chunk.iter().enumerate().map(|(index, (receipt, delay))| {
                let entry = ChangeMessageVisibilityBatchRequestEntry::builder().id(index.to_string());
                let entry = entry.receipt_handle(receipt).visibility_timeout(seconds(*delay));
                entry.build().map_err(|e| failed(subject, &e))
            });
            let entries = entries.collect::<Result<Vec<_>, _>>()?;
            let call = self.client.change_message_visibility_batch().queue_url(&self.url).set_entries(Some(entries));
            let answer = call.send().await.map_err(|e| failed(subject, &e))?;
            all_accepted(subject, answer.failed())
        });
        try_join_all(calls).await.map(drop)
    }
}

fn seconds(delay: Duration) -> i32 {
    i32::try_from(delay.as_secs()).unwrap_or(i32::MAX)
}

/// A batch call succeeds even if entries fail.
fn all_accepted(subject: &'static str, refused: &[BatchResultErrorEntry]) -> Result<(), QueueError> {
    match refused.first() {
        Some(entry) => Err(QueueError { subject, reason: entry.message().unwrap_or_else(|| entry.code()).to_owned() }),
        None => Ok(()),
    }
}

fn failed<E: std::error::Error + 'static>(subject: &'static str, error: &E) -> QueueError {
    QueueError { subject, reason: describe(error) }
}
