//! Batches of messages: reads are shared between messages, and each message succeeds or fails on its own.

mod hosts;
mod lost_nodes;
#[cfg(test)]
mod tests;
mod tokens;

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::Duration,
};

use futures::FutureExt;
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    plan::plan,
    task::{ContainerEnd, MeshTask, TaskChange, TaskPhase},
    time::elapsed,
};
use observe::{Deadline, TimestampCache, concurrently};
use report::{LogAction, LogLine, LogOutcome};
use telemetry::{Counted, EventKind};
use tokio::time::timeout;
use tracing::warn;

use crate::{
    apply::Applier,
    bootstrap::{Bootstrap, ClusterPlace, NotCreated},
    context::Context,
    error::ControllerError,
    failures::Failures,
    message::{Delivery, Sorted},
    outcome::{Changes, PlanSource},
    sweep::Sweep,
    tokens::Tokens,
};

/// How often a task is observed and planned within one invocation, because another writer changed an object since it
/// was read.
const MAX_ATTEMPTS: usize = 3;
/// The delay before the first retry of a failed message; it doubles with each receive.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(5);
/// The longest delay.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(900);
/// How long returning messages may take: less than the deadline's reserve.
const TIME_TO_HAND_BACK: Duration = Duration::from_secs(2);

/// A message whose work failed.
#[derive(Debug)]
pub struct Failure {
    pub id: String,
    pub error: Arc<ControllerError>,
}

/// A message whose work failed, and its task, if the message could be parsed.
struct Failed<'a> {
    delivery: &'a Delivery,
    about: Option<TaskChange>,
    error: Arc<ControllerError>,
}

impl Failed<'_> {
    fn line(&self) -> LogLine {
        let Self { delivery, about, error } = self;
        LogLine {
            message_id: Some(delivery.id.clone()),
            cluster_arn: about.as_ref().map(|change| change.cluster.to_string()),
            task_id: about.as_ref().map(|change| change.arn.id().to_string()),
            task_definition: about.as_ref().map(|change| change.definition.to_string()),
            error: Some(error.label()),
            field: error.field().map(str::to_owned),
            reason: Some(error.to_string()),
            receives: Some(delivery.receives),
            ..LogLine::default()
        }
    }
}

impl From<Failed<'_>> for Failure {
    fn from(failed: Failed<'_>) -> Self {
        Self { id: failed.delivery.id.clone(), error: failed.error }
    }
}

/// The result of a batch.
#[derive(Debug, Default)]
pub struct BatchReport {
    /// The messages that return to the queue. All others are done.
    pub failures: Vec<Failure>,
    /// The messages that an author's mistake stopped: sweeps do the work once the author has corrected it.
    pub faults: Vec<Failure>,
}

pub(crate) struct TaskEvents {
    pub(crate) context: Arc<Context>,
    pub(crate) applier: Arc<Applier>,
    pub(crate) bootstrap: Arc<Bootstrap>,
    pub(crate) sweep: Arc<Sweep>,
    pub(crate) tokens: Arc<Tokens>,
    /// When sweeps of clusters that had lost their nodes were last ordered.
    pub(crate) ordered: TimestampCache<ClusterArn>,
}

impl TaskEvents {
    /// Processes a batch until all is done or time runs out. If a defect makes it panic, each half is processed by itself, until
    /// the message that caused the panic is alone: without this, all messages of its batches would follow it into the dead-letter
    /// queue. What is done twice changes nothing, as after any end of the function between two calls.
    pub(crate) async fn handle(&self, deliveries: &[Delivery], deadline: Deadline) -> BatchReport {
        let (mut failed, mut parts) = (Vec::new(), vec![deliveries]);
        while let Some(part) = parts.pop() {
            // What outlives the panic are caches, whose entries are complete.
            match AssertUnwindSafe(self.handle_part(part, deadline)).catch_unwind().await {
                Ok(more) => failed.extend(more),
                Err(_) if part.len() < 2 => failed.extend(self.panicked(part)),
                Err(_) => {
                    let (earlier, later) = part.split_at(part.len() / 2);
                    parts.extend([later, earlier]);
                }
            }
        }
        self.return_to_queue(failed).await
    }

    async fn handle_part<'d>(&self, deliveries: &'d [Delivery], deadline: Deadline) -> Vec<Failed<'d>> {
        let mut sorted = Sorted::sort(deliveries, &self.context.scope);
        let (task_failures, host_failures, check_failures, pre_provision_failures, sweep_failures) = futures::join!(
            // On the heap: together they are too large to be moved.
            Box::pin(self.handle_tasks(&sorted.changes, deadline)),
            Box::pin(self.drain_gone_hosts(&sorted.hosts, deadline)),
            self.check_idleness(&sorted.idle_checks, deadline),
            self.pre_provision_all(&sorted.registered, deadline),
            self.ordered_sweeps(&sorted, deadline),
        );

        let mut failures = std::mem::take(&mut sorted.unreadable);
        failures.extend(by_message(task_failures, |task| sorted.messages.get(task)));
        failures.extend(by_message(check_failures, |holder| Some(&sorted.idle_checks.get(holder)?.messages)));
        failures.extend(host_failures.into_iter().chain(pre_provision_failures).chain(sweep_failures));
        self.failed(deliveries, &sorted, failures)
    }

    /// The failure of a message that caused a panic. Parsing it once more says what it is about, unless that is what panics.
    fn panicked<'d>(&self, alone: &'d [Delivery]) -> Vec<Failed<'d>> {
        let parsed = std::panic::catch_unwind(AssertUnwindSafe(|| Sorted::sort(alone, &self.context.scope)));
        let mut sorted = parsed.unwrap_or_default();
        sorted.kinds.entry(0).or_insert(EventKind::Unreadable);
        self.failed(alone, &sorted, for_each(&[0], &Arc::new(ControllerError::Panicked)).collect())
    }

    /// Counts the messages, and names those that failed, each with its error.
    fn failed<'d>(&self, deliveries: &'d [Delivery], sorted: &Sorted, failures: Failures<usize>) -> Vec<Failed<'d>> {
        self.count(sorted, &failures);
        let failed = failures.into_iter().filter_map(|(index, error)| {
            let about = sorted.messages.iter().find(|(_, messages)| messages.contains(&index)).map(|(task, _)| task);
            let about = about.and_then(|task| sorted.changes.get(task)).cloned();
            Some(Failed { delivery: deliveries.get(index)?, about, error })
        });
        failed.collect()
    }

    /// Counts the messages, and records how long after their events the changes were handled.
    fn count(&self, sorted: &Sorted, failed: &Failures<usize>) {
        for (index, kind) in &sorted.kinds {
            telemetry::event(*kind, !failed.contains(index));
        }
        let now = self.context.now();
        for (task, change) in &sorted.changes {
            let messages = sorted.messages.get(task).into_iter().flatten();
            if messages.clone().all(|index| !failed.contains(index)) {
                telemetry::reaction(elapsed(change.time, now));
            }
        }
    }

    async fn pre_provision_all(
        &self,
        registered: &BTreeMap<(TaskDefinitionArn, Option<ClusterArn>), Vec<usize>>,
        deadline: Deadline,
    ) -> Failures<usize> {
        let work = registered.iter().map(|((definition, cluster), messages)| async move {
            match self.pre_provision(definition, cluster.as_ref(), deadline).await {
                Ok(failures) => by_message(failures, |_| Some(messages)).collect(),
                Err(error) => for_each(messages, &Arc::new(error)).collect::<Failures<usize>>(),
            }
        });
        concurrently(work).await.into_iter().flatten().collect()
    }

    /// Sweeps that the controller ordered itself: one after the other, because each reads clusters.
    async fn ordered_sweeps(&self, sorted: &Sorted, deadline: Deadline) -> Failures<usize> {
        let mut failures = Failures::new();
        let (clusters, messages) = &sorted.lost_nodes;
        // On the heap: every batch would carry the space of a sweep.
        if !clusters.is_empty()
            && let Err(error) = Box::pin(self.sweep.after_lost_nodes(clusters, deadline)).await
        {
            failures.extend(for_each(messages, &error));
        }
        for (request, messages) in &sorted.second_looks {
            if let Err(error) = Box::pin(self.sweep.second_look(request, deadline)).await {
                failures.extend(for_each(messages, &error));
            }
        }
        failures
    }

    async fn handle_tasks(&self, changes: &Changes, deadline: Deadline) -> Failures {
        let list: Vec<TaskChange> = changes.values().cloned().collect();
        // Reads of a slow cluster must leave time for the writes of the others.
        let (tasks, unread) = self.context.observer.mesh_tasks(&list, deadline.half_way()).await;
        let mut failures = Failures::of_unread(unread);
        log_ends(&tasks, changes);
        let needed: BTreeMap<TaskArn, Needed> = tasks
            .iter()
            .filter(|task| task.phase == TaskPhase::Active)
            .map(|task| (task.arn.clone(), Needed::by(task)))
            .collect();
        let namespaces: BTreeSet<ClusterPlace> =
            needed.values().filter_map(|needed| needed.namespace.clone()).collect();
        let mut missing = self.bootstrap.create_namespaces(&namespaces, deadline.half_way()).await;
        let now = self.context.now();
        let is_new = |task: &&MeshTask| {
            changes.get(&task.arn).is_some_and(|change| self.context.scope.bounds.may_lag(change.time, now))
        };
        let nodes = nodes_of_active(tasks.iter().filter(is_new));
        let ((failed, lost_nodes), not_created) =
            futures::join!(self.plan_and_apply(tasks, changes, deadline), self.create_nodes(&nodes, deadline));
        self.sweep_for_lost(&lost_nodes, deadline).await;
        missing.extend(not_created);
        failures.extend(failed);
        for (task, needed) in needed {
            if let Some(error) = needed.first_of(&missing) {
                failures.add(task, error);
            }
        }
        failures
    }

    /// Repeats tasks whose objects another writer has changed meanwhile. Returns the nodes that Consul does not have, too.
    async fn plan_and_apply(
        &self,
        mut tasks: Vec<MeshTask>,
        changes: &Changes,
        deadline: Deadline,
    ) -> (Failures, BTreeSet<ClusterPlace>) {
        let (mut failures, mut lost_nodes) = (Failures::new(), BTreeSet::new());
        for attempt in 1..=MAX_ATTEMPTS {
            let (mut observed, unread) = self.context.observer.observe(tasks.clone(), deadline.half_way()).await;
            lost_nodes.append(&mut observed.lost_nodes);
            observed.provisioned = self.tokens.cached_holders(&observed.tasks);
            let outcomes = self
                .applier
                .apply(plan(&observed, self.context.plan_settings()), PlanSource::Events(changes), deadline)
                .await;
            let (conflicts, failed): (Failures, Failures) =
                Failures::of_actions(outcomes).into_iter().partition(|(_, error)| error.is_conflict());
            failures.extend(Failures::of_unread(unread));
            failures.extend(failed);
            tasks.retain(|task| conflicts.contains(&task.arn));
            if tasks.is_empty() {
                break;
            }
            if attempt == MAX_ATTEMPTS {
                failures.extend(conflicts);
            }
        }
        (failures, lost_nodes)
    }

    /// Reports the failures, and returns their messages to the queue before its visibility timeout: permanent failures
    /// at once, so that they reach the dead-letter queue, others after an increasing delay. The message that an author's
    /// mistake stopped does not return, or its author could keep the alarm of the dead-letter queue on.
    async fn return_to_queue(&self, failed: Vec<Failed<'_>>) -> BatchReport {
        let (faults, failures): (Vec<_>, Vec<_>) = failed.into_iter().partition(|it| it.error.needs_correction());
        for fault in &faults {
            Counted::Faults.add(1);
            LogLine { outcome: Some(LogOutcome::Skipped), ..fault.line() }.warn();
        }
        let mut returns = Vec::new();
        for failed in &failures {
            let Failed { delivery, error, .. } = failed;
            let pause = if error.is_permanent() { Duration::ZERO } else { pause(delivery.receives) };
            LogLine {
                returns_in_seconds: delivery.receipt.is_some().then_some(pause.as_secs()),
                outcome: Some(LogOutcome::Failed),
                ..failed.line()
            }
            .error();
            returns.extend(delivery.receipt.clone().map(|receipt| (receipt, pause)));
        }
        // If this fails, the messages return after the visibility timeout; the answer to Lambda must not be late.
        match timeout(TIME_TO_HAND_BACK, self.context.queue.return_after(&returns)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                warn!(reason = %error, "failed messages return only after the queue's visibility timeout");
            }
            Err(_) => warn!("SQS does not answer, so failed messages return only after the queue's visibility timeout"),
        }
        let report = |failed: Vec<Failed<'_>>| failed.into_iter().map(Failure::from).collect();
        BatchReport { failures: report(failures), faults: report(faults) }
    }
}

/// What Consul must have before an active task can register: without it, its message is not done.
struct Needed {
    /// Its namespace, unless it is `default`, which always exists.
    namespace: Option<ClusterPlace>,
    /// The node of its cluster. A task with a client agent has its own.
    node: Option<ClusterPlace>,
}

impl Needed {
    fn by(task: &MeshTask) -> Self {
        let (of, home) = (&task.tenancy, task.tenancy.home());
        Self {
            namespace: (*of != home).then(|| (task.cluster.clone(), of.clone())),
            node: (!task.runs_client_agent).then(|| (task.cluster.clone(), home)),
        }
    }

    /// Why one of them could not be created.
    fn first_of(&self, missing: &NotCreated) -> Option<Arc<ControllerError>> {
        self.namespace.iter().chain(&self.node).find_map(|place| missing.get(place)).cloned()
    }
}

/// The nodes of active tasks: their cluster, and the default namespace of their partition.
fn nodes_of_active<'a>(tasks: impl Iterator<Item = &'a MeshTask>) -> BTreeSet<ClusterPlace> {
    let active = tasks.filter(|task| task.phase == TaskPhase::Active);
    active.map(|task| (task.cluster.clone(), task.tenancy.home())).collect()
}

/// The delay of a message that was received `receives` times: exponential, half of it jitter, so that the messages of
/// one outage do not return together.
fn pause(receives: u32) -> Duration {
    pause_ceiling(receives).mul_f64(0.5 + 0.5 * fastrand::f64())
}

fn pause_ceiling(receives: u32) -> Duration {
    let doublings = receives.saturating_sub(1).min(10);
    (FIRST_RETRY_DELAY * 2_u32.pow(doublings)).min(MAX_RETRY_DELAY)
}

/// Each failure, for every message of its key.
fn by_message<'a, K>(
    failures: impl IntoIterator<Item = (K, Arc<ControllerError>)>,
    messages_of: impl Fn(&K) -> Option<&'a Vec<usize>>,
) -> impl Iterator<Item = (usize, Arc<ControllerError>)> {
    let messages = move |(what, error)| messages_of(&what).into_iter().flat_map(move |all| for_each(all, &error));
    failures.into_iter().flat_map(messages)
}

/// The same error for each of these messages.
fn for_each<'a>(
    messages: &'a [usize],
    error: &Arc<ControllerError>,
) -> impl Iterator<Item = (usize, Arc<ControllerError>)> + use<'a> {
    let error = Arc::clone(error);
    messages.iter().map(move |index| (*index, Arc::clone(&error)))
}

/// Logs how each of these tasks of the mesh has stopped, if it has. A retried message logs it again.
fn log_ends(tasks: &[MeshTask], changes: &Changes) {
    for task in tasks {
        let Some(end) = changes.get(&task.arn).and_then(|change| change.end.as_ref()) else { continue };
        LogLine {
            cluster_arn: Some(task.cluster.to_string()),
            task_id: Some(task.arn.id().to_string()),
            service: task.identity.as_ref().map(|identity| identity.service.name.to_string()),
            stop_code: end.code.clone(),
            reason: end.reason.clone(),
            containers: Some(ContainerEnd::line(&end.containers)),
            created_at: end.created_at,
            started_at: end.started_at,
            stopped_at: end.stopped_at,
            ..LogLine::of(LogAction::TaskStopped, LogOutcome::Seen)
        }
        .info();
    }
}
