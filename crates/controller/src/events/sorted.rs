//! A batch of messages, sorted by kind.

use std::{collections::BTreeMap, sync::Arc};

use aws::ecs::ApiCall;
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    task::TaskChange,
    token::TokenHolder,
};
use telemetry::EventKind;
use tracing::{debug, info};

use crate::{
    error::ControllerError,
    message::{IdleCheck, Message, SecondLook},
    outcome::Changes,
    scope::Scope,
};

/// A received message.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The message's ID.
    pub id: String,
    /// The receipt handle in SQS; `None` for an event without a queue.
    pub receipt: Option<String>,
    /// How often it was received, including this time.
    pub receives: u32,
    /// The message: an `EventBridge` envelope in JSON.
    pub body: String,
}

/// An idle check that messages request.
#[derive(Default)]
pub(super) struct RequestedCheck {
    /// The messages.
    pub(super) messages: Vec<usize>,
    /// The length of the longest chain of own messages that led to one of them.
    pub(super) hops: u32,
}

/// The batch, sorted.
#[derive(Default)]
pub(super) struct Sorted {
    /// The newest change of each task.
    pub(super) changes: Changes,
    /// The messages with that change. Duplicates fail together, so that none is acknowledged before the work is done.
    pub(super) messages: BTreeMap<TaskArn, Vec<usize>>,
    /// The holders whose tokens are checked for idleness.
    pub(super) idle_checks: BTreeMap<TokenHolder, RequestedCheck>,
    /// The second looks at tasks that ECS did not know, and the messages that request them.
    pub(super) second_looks: BTreeMap<SecondLook, Vec<usize>>,
    /// The definitions to pre-provision tokens for, and the messages that request it.
    pub(super) registered: BTreeMap<(TaskDefinitionArn, Option<ClusterArn>), Vec<usize>>,
    /// The kinds of the messages that are handled.
    pub(super) kinds: BTreeMap<usize, EventKind>,
    /// Messages that cannot be parsed.
    pub(super) unreadable: Vec<(usize, Arc<ControllerError>)>,
}

impl Sorted {
    /// Sorts the messages. Tasks of clusters that are not configured are ignored.
    pub(super) fn sort(deliveries: &[Delivery], scope: &Scope) -> Self {
        let mut sorted = Self::default();
        for (index, delivery) in deliveries.iter().enumerate() {
            match Message::parse(&delivery.body) {
                Ok(Message::TaskChange(change)) if !scope.clusters.contains(&change.cluster) => {
                    debug!(cluster_arn = %change.cluster, task_id = %change.arn.id(), outcome = "ignored",
                        "the cluster is not in ECS_CLUSTER_ARNS");
                }
                Ok(Message::TaskChange(change)) => {
                    sorted.kinds.insert(index, EventKind::TaskChange);
                    sorted.keep_newest(index, *change);
                }
                Ok(Message::IdleCheck(IdleCheck { holder, hops })) => {
                    sorted.kinds.insert(index, EventKind::IdleCheck);
                    let check = sorted.idle_checks.entry(holder).or_default();
                    check.hops = check.hops.max(hops);
                    check.messages.push(index);
                }
                Ok(Message::SecondLook(look)) => {
                    sorted.kinds.insert(index, EventKind::SecondLook);
                    sorted.second_looks.entry(look).or_default().push(index);
                }
                Ok(Message::ApiCall(ApiCall::DefinitionInUse { definition, cluster })) => {
                    sorted.kinds.insert(index, EventKind::TaskDefinition);
                    sorted.registered.entry((definition, cluster)).or_default().push(index);
                }
                Ok(Message::ApiCall(ApiCall::ClusterDeleted(cluster))) => {
                    info!(cluster_arn = %cluster, outcome = "ignored", "deleted clusters are swept by reconcile");
                }
                Ok(Message::Other(what)) => {
                    info!(event = what, outcome = "ignored", "the controller does not use this event");
                }
                Err(error) => {
                    sorted.kinds.insert(index, EventKind::Unreadable);
                    sorted.unreadable.push((index, Arc::new(error.into())));
                }
            }
        }
        sorted
    }

    /// Keeps the newest version of a task: its work includes that of older versions.
    pub(super) fn keep_newest(&mut self, index: usize, change: TaskChange) {
        let known = self.changes.get(&change.arn).map(|known| known.version);
        if known.is_none_or(|known| known < change.version) {
            self.messages.insert(change.arn.clone(), vec![index]);
            self.changes.insert(change.arn.clone(), change);
        } else if known == Some(change.version) {
            self.messages.entry(change.arn).or_default().push(index);
        }
    }
}
