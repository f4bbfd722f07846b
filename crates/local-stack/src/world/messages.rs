//! The messages of a world: how they get into its queue, and waiting until they are done.

use std::collections::BTreeMap;

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use serde_json::Value;

use super::World;
use crate::progress::until_done;

/// How many messages one call sends at most.
const SENT_AT_ONCE: usize = 10;

impl World<'_> {
    /// Puts events on the queue, as EventBridge does; each is a message of its own.
    pub async fn deliver(&self, events: &[Value]) {
        let bodies: Vec<String> = events.iter().map(Value::to_string).collect();
        self.deliver_raw(&bodies).await;
    }

    /// Puts any text on the queue.
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

    /// Waits until all messages of this world are done, also delayed ones, and none of them was given up.
    pub async fn settled(&self) {
        until_done(&format!("the messages of {} to be done", self.name), || async {
            let waiting = self.waiting(&self.deployed.queue_url).await;
            if waiting.is_empty() { Ok(()) } else { Err(state_of(&waiting)) }
        })
        .await;
        let given_up = self.waiting(&self.deployed.failed_queue_url).await;
        assert!(given_up.is_empty(), "in the dead-letter queue: {given_up:#?}");
    }

    /// Waits until every message of this world is done, or is a look that is due later.
    pub async fn worked_off(&self) {
        until_done(&format!("the events of {} to be done", self.name), || async {
            let mut waiting = self.waiting(&self.deployed.queue_url).await;
            waiting.retain(|message| !is_look(message));
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

/// The state of messages: how many there are of each kind, how often they were received, and whether they are in work.
pub fn state_of(messages: &[Value]) -> String {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for message in messages {
        let kind = if is_look(message) { "look" } else { "event" };
        let (receives, visible) = (&message["ReceiveCount"], &message["IsVisible"]);
        *kinds.entry(format!("{kind}, received {receives} times, visible: {visible}")).or_default() += 1;
    }
    format!("{} messages: {kinds:#?}", messages.len())
}

fn is_look(message: &Value) -> bool {
    message["Body"].as_str().unwrap_or_default().contains("Service Idle Check")
}
