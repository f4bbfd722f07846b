//! A batch of messages: each task is looked at once, reads are shared, and every message gets its own verdict.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use tokio::time::timeout;
use tracing::{error, info, warn};

use super::{
    CONCURRENCY, Controller, ControllerError, Deadline,
    apply::{self, Basis, Changes, is_conflict},
    message::Message,
    observe::Failures,
};
use crate::ecs::ApiCall;
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    identity::MeshService,
    mutant::{self, Mutant},
    plan::plan,
    task::TaskChange,
};

/// How often a task is looked at again at once, because somebody else changed what was seen.
const LOOKS: usize = 3;
/// The wait before a failed message's first return; it doubles with every further one.
const FIRST_RETURN: Duration = Duration::from_secs(5);
/// The longest wait.
const LAST_RETURN: Duration = Duration::from_secs(900);
/// How long telling the queue may take: less than what the deadline keeps in reserve.
const TIME_TO_HAND_BACK: Duration = Duration::from_secs(2);

/// A message as it was received.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The message's ID.
    pub id: String,
    /// What SQS wants to hear when the message should come back; `None` for an event that came without a queue.
    pub receipt: Option<String>,
    /// How often it was received, this time included.
    pub receives: u32,
    /// The message: an `EventBridge` envelope in JSON.
    pub body: String,
}

/// A message whose work is not done.
#[derive(Debug)]
pub struct Failure {
    /// The message's ID.
    pub id: String,
    /// Why.
    pub error: Arc<ControllerError>,
}

/// A message whose work is not done, and the task that it is about, if it could be read that far.
struct Failed<'a> {
    delivery: &'a Delivery,
    about: Option<&'a TaskChange>,
    error: Arc<ControllerError>,
}

/// What became of a batch.
#[derive(Debug, Default)]
pub struct BatchReport {
    /// The messages that have to come back. All others are done.
    pub failures: Vec<Failure>,
}

/// The batch, sorted.
#[derive(Default)]
struct Sorted {
    /// The newest change of each task.
    changes: Changes,
    /// The messages that brought it: of two with the same change, another environment may work on the other one, and
    /// neither may be acknowledged because of the other.
    messages: BTreeMap<TaskArn, Vec<usize>>,
    /// The services to look at, and the messages that ask for it.
    looks: BTreeMap<MeshService, Vec<usize>>,
    /// The definitions to make tokens for, and the messages that ask for it.
    registered: BTreeMap<(TaskDefinitionArn, Option<ClusterArn>), Vec<usize>>,
    /// Messages that cannot be read.
    unreadable: Vec<(usize, Arc<ControllerError>)>,
}

impl Controller {
    /// Works on a batch until all is done or time runs out.
    pub async fn handle(&self, deliveries: &[Delivery], deadline: Deadline) -> BatchReport {
        let sorted = self.sort(deliveries);
        let looks = sorted.looks.keys().cloned().collect();
        let (task_failures, look_failures, ahead_failures) = futures::join!(
            self.work_on_tasks(&sorted.changes, deadline),
            self.check_idleness(looks, deadline),
            self.work_ahead(&sorted.registered, deadline),
        );

        let of_tasks = by_message(task_failures, &sorted.messages);
        let of_looks = by_message(look_failures, &sorted.looks);
        let failed: Vec<_> =
            sorted.unreadable.into_iter().chain(of_tasks).chain(of_looks).chain(ahead_failures).collect();
        let failed = failed.into_iter().filter_map(|(index, error)| {
            let about = sorted.messages.iter().find(|(_, messages)| messages.contains(&index)).map(|(task, _)| task);
            Some(Failed {
                delivery: deliveries.get(index)?,
                about: about.and_then(|task| sorted.changes.get(task)),
                error,
            })
        });
        self.hand_back(failed.collect()).await
    }

    fn sort(&self, deliveries: &[Delivery]) -> Sorted {
        let mut sorted = Sorted::default();
        for (index, delivery) in deliveries.iter().enumerate() {
            match Message::parse(&delivery.body) {
                Ok(Message::TaskChange(change)) if !self.scope.clusters.contains(&change.cluster) => {
                    warn!(cluster_arn = %change.cluster, task_id = %change.arn.id(), outcome = "refused",
                        "the cluster is not in ECS_CLUSTER_ARNS");
                }
                Ok(Message::TaskChange(change)) => sorted.keep_newest(index, *change),
                Ok(Message::IdleCheck(service)) => sorted.looks.entry(service).or_default().push(index),
                Ok(Message::ApiCall(ApiCall::DefinitionInUse { definition, cluster })) => {
                    sorted.registered.entry((definition, cluster)).or_default().push(index);
                }
                Ok(Message::ApiCall(ApiCall::ClusterDeleted(cluster))) => {
                    info!(cluster_arn = %cluster, outcome = "ignored", "a deleted cluster is the sweep's business");
                }
                Ok(Message::Other(what)) => {
                    info!(event = what, outcome = "ignored", "none of our business");
                }
                Err(error) => sorted.unreadable.push((index, Arc::new(error.into()))),
            }
        }
        sorted
    }

    async fn work_ahead(
        &self,
        registered: &BTreeMap<(TaskDefinitionArn, Option<ClusterArn>), Vec<usize>>,
        deadline: Deadline,
    ) -> Vec<(usize, Arc<ControllerError>)> {
        let work = registered.iter().map(|((definition, cluster), messages)| async move {
            let made = self.provision_ahead(definition, cluster.as_ref(), deadline).await;
            made.err()
                .into_iter()
                .flat_map(|error| messages.iter().map(move |index| (*index, Arc::clone(&error))))
                .collect()
        });
        let failed: Vec<Vec<_>> = stream::iter(work).buffer_unordered(CONCURRENCY).collect().await;
        failed.concat()
    }

    async fn work_on_tasks(&self, changes: &Changes, deadline: Deadline) -> Failures {
        let list: Vec<TaskChange> = changes.values().cloned().collect();
        // What one cluster is slow at must leave the others the time to be done.
        let (mut tasks, mut failures) = self.mesh_tasks(&list, deadline.half_way()).await;
        for look in 1..=LOOKS {
            let (observed, unobserved) = self.observe(tasks.clone(), deadline.half_way()).await;
            let outcomes = self.apply(plan(&observed, self.rules()), Basis::Events(changes), deadline).await;
            let (conflicts, failed): (Failures, Failures) =
                apply::failures(outcomes).into_iter().partition(|(_, error)| is_conflict(error));
            failures.extend(unobserved);
            failures.extend(failed);
            tasks.retain(|task| conflicts.contains_key(&task.arn));
            if tasks.is_empty() {
                break;
            }
            if look == LOOKS {
                failures.extend(conflicts);
            }
        }
        failures
    }

    /// Reports the failures, and lets the queue bring them back sooner than after its visibility time-out: what can
    /// never succeed at once (it ends in the dead-letter queue), the rest after a growing pause.
    async fn hand_back(&self, mut failed: Vec<Failed<'_>>) -> BatchReport {
        failed.retain(|_| !mutant::is(Mutant::FailureAcknowledged));
        let mut returns = Vec::new();
        for Failed { delivery, about, error: reason } in &failed {
            let pause = if reason.is_permanent() { Duration::ZERO } else { pause(delivery.receives) };
            error!(
                message_id = delivery.id,
                cluster_arn = about.map(|change| change.cluster.as_str()),
                task_id = about.map(|change| change.arn.id().as_str()),
                task_definition = about.map(|change| change.definition.as_str()),
                error = reason.label(),
                field = reason.field(),
                reason = %reason,
                receives = delivery.receives,
                returns_in_seconds = delivery.receipt.is_some().then_some(pause.as_secs()),
                outcome = "failed"
            );
            returns.extend(delivery.receipt.clone().map(|receipt| (receipt, pause)));
        }
        // Without it the messages come back all the same; but the answer to Lambda must not be late.
        match timeout(TIME_TO_HAND_BACK, self.edges.queue.return_after(&returns)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                warn!(reason = %error, "failed messages return only after the queue's visibility time-out");
            }
            Err(_) => warn!("SQS does not answer; failed messages return only after the queue's visibility time-out"),
        }
        let failures = failed.into_iter().map(|failed| Failure { id: failed.delivery.id.clone(), error: failed.error });
        BatchReport { failures: failures.collect() }
    }
}

impl Sorted {
    /// A newer version of a task's state replaces an older one, whose work the newer one's includes.
    fn keep_newest(&mut self, index: usize, change: TaskChange) {
        let known = self.changes.get(&change.arn).map(|known| known.version);
        if known.is_none_or(|known| known < change.version || mutant::is(Mutant::StaleVersion)) {
            self.messages.insert(change.arn.clone(), vec![index]);
            self.changes.insert(change.arn.clone(), change);
        } else if known == Some(change.version) {
            self.messages.entry(change.arn).or_default().push(index);
        }
    }
}

/// The pause before a message that was received `receives` times comes back: exponential, half of it jitter, so that
/// the messages of one outage do not all come back together.
fn pause(receives: u32) -> Duration {
    pause_ceiling(receives).mul_f64(0.5 + 0.5 * fastrand::f64())
}

fn pause_ceiling(receives: u32) -> Duration {
    let doublings = receives.saturating_sub(1).min(10);
    (FIRST_RETURN * 2_u32.pow(doublings)).min(LAST_RETURN)
}

/// Each failure once for every message that asked for what failed.
fn by_message<K: Ord>(
    failures: impl IntoIterator<Item = (K, Arc<ControllerError>)>,
    messages: &BTreeMap<K, Vec<usize>>,
) -> impl Iterator<Item = (usize, Arc<ControllerError>)> {
    failures.into_iter().flat_map(|(what, error)| {
        let messages = messages.get(&what).cloned().unwrap_or_default();
        messages.into_iter().map(move |index| (index, Arc::clone(&error)))
    })
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
