//! SQS: the function's own queue, with delayed checks and returned messages, and the dead-letter queue.

use std::{error::Error, time::Duration};

use async_trait::async_trait;
use aws_sdk_sqs::{
    Client,
    types::{
        BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry, Message, MessageSystemAttributeName,
        QueueAttributeName, SendMessageBatchRequestEntry,
    },
};
use aws_types::SdkConfig;
use futures::future::try_join_all;
use jiff::Timestamp;

use crate::sdk::{Lazy, describe, lazy};

/// The most entries in one batch call.
const BATCH_LIMIT: usize = 10;

/// How many messages of a dead-letter queue are read: the most in one `ReceiveMessage`.
const SHOWN: i32 = 10;
/// Why `EventBridge` could not deliver an event, in the attributes of the message:
/// <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rule-dlq.html>
const ERROR_ATTRIBUTES: [&str; 2] = ["ERROR_CODE", "ERROR_MESSAGE"];

/// A call to SQS failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("SQS: {operation} failed: {reason}")]
pub struct QueueError {
    pub operation: &'static str,
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

pub struct SqsQueue {
    client: Lazy<Client>,
    url: String,
}

impl SqsQueue {
    /// The queue at `url`.
    pub fn new(config: &SdkConfig, url: String) -> Self {
        Self { client: lazy(config, Client::new), url }
    }
}

#[async_trait]
impl MessageSender for SqsQueue {
    async fn send_later(&self, bodies: &[String], delay: Duration) -> Result<(), QueueError> {
        let operation = "SendMessageBatch";
        for chunk in bodies.chunks(BATCH_LIMIT) {
            let entries = chunk.iter().enumerate().map(|(index, body)| {
                let entry = SendMessageBatchRequestEntry::builder().id(index.to_string()).message_body(body);
                entry.delay_seconds(seconds(delay)).build().map_err(failed(operation))
            });
            let entries = entries.collect::<Result<Vec<_>, _>>()?;
            let call = self.client.send_message_batch().queue_url(&self.url).set_entries(Some(entries));
            let answer = call.send().await.map_err(failed(operation))?;
            all_accepted(operation, answer.failed())?;
        }
        Ok(())
    }
}

#[async_trait]
impl MessageVisibility for SqsQueue {
    async fn return_after(&self, messages: &[(String, Duration)]) -> Result<(), QueueError> {
        let operation = "ChangeMessageVisibilityBatch";
        let calls = messages.chunks(BATCH_LIMIT).map(async |chunk| {
            let entries = chunk.iter().enumerate().map(|(index, (receipt, delay))| {
                let entry = ChangeMessageVisibilityBatchRequestEntry::builder().id(index.to_string());
                let entry = entry.receipt_handle(receipt).visibility_timeout(seconds(*delay));
                entry.build().map_err(failed(operation))
            });
            let entries = entries.collect::<Result<Vec<_>, _>>()?;
            let call = self.client.change_message_visibility_batch().queue_url(&self.url).set_entries(Some(entries));
            let answer = call.send().await.map_err(failed(operation))?;
            all_accepted(operation, answer.failed())
        });
        try_join_all(calls).await.map(drop)
    }
}

fn seconds(delay: Duration) -> i32 {
    i32::try_from(delay.as_secs()).unwrap_or(i32::MAX)
}

/// A batch call succeeds even if entries fail.
fn all_accepted(operation: &'static str, refused: &[BatchResultErrorEntry]) -> Result<(), QueueError> {
    match refused.first() {
        Some(entry) => {
            Err(QueueError { operation, reason: entry.message().unwrap_or_else(|| entry.code()).to_owned() })
        }
        None => Ok(()),
    }
}

fn failed<E: Error + 'static>(operation: &'static str) -> impl Fn(E) -> QueueError {
    move |error| QueueError { operation, reason: describe(&error) }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetterQueue {
    pub arn: String,
    /// About how many messages are in it.
    pub messages: usize,
}

/// A message in a dead-letter queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedMessage {
    pub body: String,
    /// When it was first sent.
    pub sent_at: Option<Timestamp>,
    /// Why `EventBridge` could not deliver it, if `EventBridge` has put it here.
    pub undelivered: Option<String>,
}

/// A redrive: the return of a dead-letter queue's messages to the queue that they came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redrive {
    /// When it was started, in milliseconds since 1970, by the clock of SQS.
    pub started: i64,
    /// How many messages have returned.
    pub moved: usize,
    /// `RUNNING`, `COMPLETED`, `CANCELLING`, `CANCELLED` or `FAILED`.
    pub status: String,
    /// Why it failed.
    pub failure: Option<String>,
}

/// The dead-letter queues of an account and region.
pub struct DeadLetterQueues {
    client: Client,
}

impl DeadLetterQueues {
    /// The queues in the configuration's region.
    pub fn new(config: &SdkConfig) -> Self {
        Self { client: Client::new(config) }
    }

    /// The queue at this URL.
    pub async fn queue(&self, url: &str) -> Result<DeadLetterQueue, QueueError> {
        let operation = "GetQueueAttributes";
        let call = self.client.get_queue_attributes().queue_url(url).attribute_names(QueueAttributeName::QueueArn);
        let call = call.attribute_names(QueueAttributeName::ApproximateNumberOfMessages);
        let answer = call.send().await.map_err(failed(operation))?;
        let attribute = |name| {
            let found = answer.attributes().and_then(|all| all.get(&name));
            let reason = || format!("the answer has no attribute {}", name.as_str());
            found.cloned().ok_or_else(|| QueueError { operation, reason: reason() })
        };
        let messages = attribute(QueueAttributeName::ApproximateNumberOfMessages)?;
        let messages = messages.parse().map_err(failed::<std::num::ParseIntError>(operation))?;
        Ok(DeadLetterQueue { arn: attribute(QueueAttributeName::QueueArn)?, messages })
    }

    /// Some of its messages, which stay visible.
    pub async fn sample(&self, url: &str) -> Result<Vec<FailedMessage>, QueueError> {
        let call = self.client.receive_message().queue_url(url).max_number_of_messages(SHOWN).visibility_timeout(0);
        let call = call.set_message_attribute_names(Some(ERROR_ATTRIBUTES.map(str::to_owned).to_vec()));
        let call = call.message_system_attribute_names(MessageSystemAttributeName::SentTimestamp);
        let answer = call.send().await.map_err(failed("ReceiveMessage"))?;
        Ok(answer.messages().iter().map(read).collect())
    }

    pub async fn start_redrive(&self, queue_arn: &str) -> Result<(), QueueError> {
        let started = self.client.start_message_move_task().source_arn(queue_arn).send().await;
        started.map(drop).map_err(failed("StartMessageMoveTask"))
    }

    /// The newest redrive; `None` if SQS knows of none.
    pub async fn newest_redrive(&self, queue_arn: &str) -> Result<Option<Redrive>, QueueError> {
        let call = self.client.list_message_move_tasks().source_arn(queue_arn).max_results(1);
        let answer = call.send().await.map_err(failed("ListMessageMoveTasks"))?;
        Ok(answer.results().first().map(|task| Redrive {
            started: task.started_timestamp(),
            moved: usize::try_from(task.approximate_number_of_messages_moved()).unwrap_or_default(),
            status: task.status().unwrap_or_default().to_owned(),
            failure: task.failure_reason().map(str::to_owned),
        }))
    }
}

fn read(message: &Message) -> FailedMessage {
    let sent = message.attributes().and_then(|all| all.get(&MessageSystemAttributeName::SentTimestamp));
    let sent_at = sent.and_then(|millisecond| millisecond.parse().ok());
    let attribute = |name| message.message_attributes()?.get(name)?.string_value();
    let undelivered: Vec<&str> = ERROR_ATTRIBUTES.into_iter().filter_map(attribute).collect();
    FailedMessage {
        undelivered: (!undelivered.is_empty()).then(|| undelivered.join(": ")),
        body: message.body().unwrap_or_default().to_owned(),
        sent_at: sent_at.and_then(|millisecond| Timestamp::from_millisecond(millisecond).ok()),
    }
}
