//! Simulated SQS: a standard queue (at-least-once delivery, in any order) with visibility timeouts and a dead-letter queue.

use std::time::Duration;

use async_trait::async_trait;
use aws::queue::{MessageSender, MessageVisibility, QueueError};
use controller::Delivery;
use report::LostNodeOrder;
use serde_json::Value;

use super::{
    calls::{Connection, Fault, Service},
    world::World,
};

/// The queue's visibility timeout, as in the template, in milliseconds.
const VISIBILITY: u64 = 360_000;

/// A message of the queue.
pub struct Message {
    pub(crate) id: u64,
    pub body: String,
    pub(crate) visible_at: u64,
    pub(crate) receives: u32,
    /// The task of the event in the body, and the version of its state.
    pub(crate) about: Option<(String, u64)>,
}

/// The queue.
#[derive(Default)]
pub struct Sqs {
    pub messages: Vec<Message>,
    pub(crate) dead: Vec<Message>,
    sent: u64,
}

impl Sqs {
    pub(crate) fn send(&mut self, body: String, visible_at: u64) {
        self.sent += 1;
        let about = about(&serde_json::from_str(&body).unwrap());
        self.messages.push(Message { id: self.sent, body, visible_at, receives: 0, about });
    }

    pub(crate) fn is_visible(&self, now: u64) -> bool {
        self.messages.iter().any(|message| message.visible_at <= now)
    }

    pub(crate) fn next_visible(&self) -> Option<u64> {
        self.messages.iter().map(|message| message.visible_at).min()
    }
}

/// Whether a message orders a sweep of a cluster.
pub(crate) fn orders_sweep(body: &str) -> bool {
    body.contains(LostNodeOrder::DETAIL_TYPE)
}

/// The task of an event, and the version of its state.
pub(crate) fn about(event: &Value) -> Option<(String, u64)> {
    Some((event["detail"]["taskArn"].as_str()?.to_owned(), event["detail"]["version"].as_u64()?))
}

impl World {
    /// A batch of visible messages, in random order.
    pub(crate) fn receive(&mut self) -> Vec<Delivery> {
        let mut visible: Vec<usize> =
            (0..self.sqs.messages.len()).filter(|index| self.sqs.messages[*index].visible_at <= self.now).collect();
        self.random.shuffle(&mut visible);
        visible.truncate(self.random.usize(1..=self.scenario.batch));
        // The sweep that an order starts is judged as any other one, by what it has read: its batch has nothing else.
        let is_order = |index: &usize| orders_sweep(&self.sqs.messages[*index].body);
        if visible.first().is_some_and(is_order) {
            visible.truncate(1);
        } else {
            visible.retain(|index| !is_order(index));
        }
        let mut deliveries = Vec::new();
        for index in &visible {
            let duplicated = self.scenario.duplicated / 3;
            let is_seen_twice = !self.fault_free && self.chance(duplicated);
            let now = self.now;
            let message = &mut self.sqs.messages[*index];
            message.receives += 1;
            // At-least-once delivery: another receiver may get the message as well.
            message.visible_at = if is_seen_twice { now } else { now + VISIBILITY };
            if message.receives > self.scenario.max_receives {
                continue;
            }
            deliveries.push(Delivery {
                id: message.id.to_string(),
                receipt: Some(message.id.to_string()),
                receives: message.receives,
                body: message.body.clone(),
            });
        }
        let limit = self.scenario.max_receives;
        let (dead, living) =
            std::mem::take(&mut self.sqs.messages).into_iter().partition(|message| message.receives > limit);
        self.sqs.messages = living;
        self.sqs.dead.extend::<Vec<Message>>(dead);
        deliveries
    }

    /// Redrives the dead-letter queue; whether it had any messages.
    pub(crate) fn redrive(&mut self) -> bool {
        if !self.scenario.redrives || self.sqs.dead.is_empty() {
            return false;
        }
        self.note("the dead-letter queue is redriven");
        let now = self.now;
        let dead = std::mem::take(&mut self.sqs.dead);
        self.sqs.messages.extend(dead.into_iter().map(|message| Message { receives: 0, visible_at: now, ..message }));
        true
    }

    /// Deletes a message from the queue; the deletion may be lost.
    pub(crate) fn acknowledge(&mut self, id: &str) {
        let lost = self.scenario.answer_lost;
        if self.fault_free || !self.chance(lost) {
            self.sqs.messages.retain(|message| message.id.to_string() != id);
        }
    }
}

/// SQS, as one environment reaches it.
pub(crate) struct QueueEdge(pub Connection);

fn failed(fault: Fault) -> QueueError {
    QueueError { operation: "SQS", reason: format!("{fault:?}") }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap()
}

#[async_trait]
impl MessageSender for QueueEdge {
    async fn send_later(&self, bodies: &[String], delay: Duration) -> Result<(), QueueError> {
        let sent = bodies.to_vec();
        let effect = move |world: &mut World| {
            let at = world.now + milliseconds(delay).min(900_000);
            for body in &sent {
                world.sqs.send(body.clone(), at);
            }
            Ok(())
        };
        self.0.call(Service::Sqs, || format!("SendMessage {bodies:?} in {delay:?}"), effect, failed).await
    }
}

#[async_trait]
impl MessageVisibility for QueueEdge {
    async fn return_after(&self, messages: &[(String, Duration)]) -> Result<(), QueueError> {
        if messages.is_empty() {
            return Ok(());
        }
        let returned = messages.to_vec();
        let effect = move |world: &mut World| {
            for (receipt, pause) in &returned {
                let at = world.now + milliseconds(*pause);
                let message = world.sqs.messages.iter_mut().find(|message| message.id.to_string() == *receipt);
                if let Some(message) = message {
                    message.visible_at = at;
                }
            }
            Ok(())
        };
        self.0.call(Service::Sqs, || format!("ChangeMessageVisibility {messages:?}"), effect, failed).await
    }
}
