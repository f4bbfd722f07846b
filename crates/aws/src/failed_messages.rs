//! The messages in a dead-letter queue, and their return to the queue that they came from.

use async_trait::async_trait;
use aws_sdk_sqs::{
    Client,
    types::{Message, MessageSystemAttributeName, QueueAttributeName},
};
use aws_types::SdkConfig;
use jiff::Timestamp;

use crate::sdk::describe;

/// How many messages are looked at: the most in one `ReceiveMessage`.
const SHOWN: i32 = 10;

/// Why `EventBridge` could not deliver an event, in the attributes of the message:
/// <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rule-dlq.html>
const ERROR_CODE: &str = "ERROR_CODE";
const ERROR_MESSAGE: &str = "ERROR_MESSAGE";

/// An error of SQS.
#[derive(Debug, thiserror::Error)]
#[error("{action} of the dead-letter queue failed: {reason}")]
pub struct FailedMessagesError {
    /// The API action.
    pub action: &'static str,
    /// The cause.
    pub reason: String,
}

/// A dead-letter queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetterQueue {
    /// Its ARN.
    pub arn: String,
    /// About how many messages are in it.
    pub messages: usize,
}

/// A message in a dead-letter queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedMessage {
    /// Its body.
    pub body: String,
    /// When it was first sent.
    pub sent_at: Option<Timestamp>,
    /// Why `EventBridge` could not deliver it, if `EventBridge` has put it here.
    pub undelivered: Option<String>,
}

/// How far the return of messages is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// When the return was started, in milliseconds since 1970, by the clock of SQS.
    pub started: i64,
    /// How many messages have returned.
    pub moved: usize,
    /// `RUNNING`, `COMPLETED`, `CANCELLING`, `CANCELLED` or `FAILED`.
    pub status: String,
    /// Why it failed.
    pub failure: Option<String>,
}

/// Reads a dead-letter queue, and returns its messages.
#[async_trait]
pub trait FailedMessages: Send + Sync {
    /// The queue at this URL.
    async fn queue(&self, url: &str) -> Result<DeadLetterQueue, FailedMessagesError>;

    /// Some of its messages, which stay visible.
    async fn look(&self, url: &str) -> Result<Vec<FailedMessage>, FailedMessagesError>;

    /// Starts to return its messages to the queue that they came from.
    async fn start_return(&self, queue_arn: &str) -> Result<(), FailedMessagesError>;

    /// How far the newest return is; `None` if SQS knows of none.
    async fn progress(&self, queue_arn: &str) -> Result<Option<Progress>, FailedMessagesError>;
}

/// The queues of an account and region.
pub struct SqsFailedMessages {
    client: Client,
}

impl SqsFailedMessages {
    /// The queues in the configuration's region.
    pub fn new(config: &SdkConfig) -> Self {
        Self { client: Client::new(config) }
    }
}

#[async_trait]
impl FailedMessages for SqsFailedMessages {
    async fn queue(&self, url: &str) -> Result<DeadLetterQueue, FailedMessagesError> {
        let action = "GetQueueAttributes";
        let call = self.client.get_queue_attributes().queue_url(url).attribute_names(QueueAttributeName::QueueArn);
        let call = call.attribute_names(QueueAttributeName::ApproximateNumberOfMessages);
        let answer = call.send().await.map_err(|e| failed(action, &e))?;
        let attribute = |name| {
            let found = answer.attributes().and_then(|all| all.get(&name));
            let reason = || format!("the answer has no attribute {}", name.as_str());
            found.cloned().ok_or_else(|| FailedMessagesError { action, reason: reason() })
        };
        let messages = attribute(QueueAttributeName::ApproximateNumberOfMessages)?;
        let messages = messages.parse().map_err(|e| failed::<std::num::ParseIntError>(action, &e))?;
        Ok(DeadLetterQueue { arn: attribute(QueueAttributeName::QueueArn)?, messages })
    }

    async fn look(&self, url: &str) -> Result<Vec<FailedMessage>, FailedMessagesError> {
        let call = self.client.receive_message().queue_url(url).max_number_of_messages(SHOWN).visibility_timeout(0);
        let call = call.message_attribute_names(ERROR_CODE).message_attribute_names(ERROR_MESSAGE);
        let call = call.message_system_attribute_names(MessageSystemAttributeName::SentTimestamp);
        let answer = call.send().await.map_err(|e| failed("ReceiveMessage", &e))?;
        Ok(answer.messages().iter().map(read).collect())
    }

    async fn start_return(&self, queue_arn: &str) -> Result<(), FailedMessagesError> {
        let started = self.client.start_message_move_task().source_arn(queue_arn).send().await;
        started.map(drop).map_err(|e| failed("StartMessageMoveTask", &e))
    }

    async fn progress(&self, queue_arn: &str) -> Result<Option<Progress>, FailedMessagesError> {
        let call = self.client.list_message_move_tasks().source_arn(queue_arn).max_results(1);
        let answer = call.send().await.map_err(|e| failed("ListMessageMoveTasks", &e))?;
        Ok(answer.results().first().map(|task| Progress {
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
    let undelivered: Vec<&str> = [ERROR_CODE, ERROR_MESSAGE].into_iter().filter_map(attribute).collect();
    FailedMessage {
        undelivered: (!undelivered.is_empty()).then(|| undelivered.join(": ")),
        body: message.body().unwrap_or_default().to_owned(),
        sent_at: sent_at.and_then(|millisecond| Timestamp::from_millisecond(millisecond).ok()),
    }
}

fn failed<E: std::error::Error + 'static>(action: &'static str, error: &E) -> FailedMessagesError {
    FailedMessagesError { action, reason: describe(error) }
}
