//! The messages of a world: sending them, and waiting until they are handled.

use std::collections::BTreeMap;

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use serde_json::Value;

use super::World;
use crate::progress::wait_until_done;

/// The most messages of one call.
const SENT_AT_ONCE: usize = 10;

impl World<'_> {
    /// Sends events to the queue, each as its own message, as EventBridge does.
    pub async fn deliver(&self, events: &[Value]) {
        let bodies: Vec<String> = events.iter().map(Value::to_string).collect();
        self.deliver_raw(&bodies).await;
    }

    /// Sends texts to the queue.
    pub async fn deliver_raw(&self, bodies: &[String]) {
        let sqs = self.aws.sqs();
        for chunk in bodies.chunks(SENT_AT_ONCE) {
            let mut call = sqs.send_message_batch().queue_url(&self.deployed.queue_url);
            for (index, body) in chunk.iter().enumerate() {
                let entry = SendMessageBatchRequestEntry::builder().id(index.to_string());
                call = call.entries(entry.message_body(body).build().unwrap());
            }
            assert!(call.send().await.expect("SendMessageBatch").failed().is_empty());
        }
    }

    /// Waits until all messages of this world are handled, including delayed ones, and asserts that the dead-letter queue has none.
    pub async fn settled(&self) {
        wait_until_done(&format!("the messages of {} to be done", self.name), || async {
            let waiting = self.waiting(&self.deployed.queue_url).await;
            if waiting.is_empty() { Ok(()) } else { Err(state_of(&waiting)) }
        })
        .await;
        let given_up = self.waiting(&self.deployed.failed_queue_url).await;
        assert!(given_up.is_empty(), "in the dead-letter queue: {given_up:#?}");
    }

    /// Waits until all messages of this world except idle checks are handled.
    pub async fn events_handled(&self) {
        wait_until_done(&format!("the events of {} to be done", self.name), || async {
            let mut waiting = self.waiting(&self.deployed.queue_url).await;
            waiting.retain(|message| !is_idle_check(message));
            if waiting.is_empty() { Ok(()) } else { Err(state_of(&waiting)) }
        })
        .await;
    }

    /// The messages of this world in a queue.
    pub async fn waiting(&self, queue_url: &str) -> Vec<Value> {
        let mut messages = self.aws.messages(queue_url).await;
        messages.retain(|message| message["Body"].as_str().unwrap_or_default().contains(self.name));
        messages
    }
}

/// A summary of messages: their number by kind, receive count and visibility.
pub fn state_of(messages: &[Value]) -> String {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for message in messages {
        let kind = if is_idle_check(message) { "idle check" } else { "event" };
        let (receives, visible) = (&message["ReceiveCount"], &message["IsVisible"]);
        *kinds.entry(format!("{kind}, received {receives} times, visible: {visible}")).or_default() += 1;
    }
    format!("{} messages: {kinds:#?}", messages.len())
}

fn is_idle_check(message: &Value) -> bool {
    message["Body"].as_str().unwrap_or_default().contains("Service Idle Check")
}
