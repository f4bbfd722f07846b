//! Syncs the health of running tasks whose own health-sync has stopped: nobody else tells Consul of it any more.
//!
//! The event of the stop and each sweep sync at once, and send messages by which the tasks are synced every minute until the
//! next sweep. No message leads to another one.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use aws::{ecs::DESCRIBE_LIMIT, queue::MessageSender};
use mesh::{
    arn::{ClusterArn, TaskArn, TaskId},
    phase::TaskPhase,
    repair::TaskFacts,
    task::{DescribedTask, MeshTask},
    time::elapsed,
};
use serde_json::{Value, json};

use crate::{
    clock::Clock, deadline::Deadline, error::ControllerError, healing::HealingKind, health_sync::HealthSync,
    message::Message, outcome::concurrently, scope::Scope, timestamp_cache::TimestampCache,
};

/// How often the health of such a task is synced.
const INTERVAL: Duration = Duration::from_mins(1);
/// The longest delay of a message in SQS: with a longer time between sweeps, the tasks are synced in this part of it.
const MAX_DELAY: Duration = Duration::from_mins(15);

/// Syncs the health of tasks whose health-sync has stopped.
pub(crate) struct Takeover {
    pub(crate) health_sync: Arc<HealthSync>,
    pub(crate) queue: Arc<dyn MessageSender>,
    pub(crate) clock: Arc<dyn Clock>,
    /// When this execution environment last sent messages for a task.
    pub(crate) asked: TimestampCache<TaskArn>,
}

/// Tasks of a cluster of which not all was done, and why.
pub(crate) struct NotTakenOver {
    pub(crate) cluster: ClusterArn,
    pub(crate) tasks: Vec<TaskArn>,
    pub(crate) error: Arc<ControllerError>,
}

impl Takeover {
    /// Takes the tasks over that have lost their health-sync: asks for syncs until the next sweep, and syncs their health.
    pub(crate) async fn take_over(&self, tasks: &[MeshTask], deadline: Deadline) -> Vec<NotTakenOver> {
        let mut clusters: BTreeMap<ClusterArn, BTreeSet<TaskId>> = BTreeMap::new();
        for task in lost(tasks) {
            clusters.entry(task.cluster.clone()).or_default().insert(task.arn.id().clone());
        }
        let work = clusters.into_iter().map(|(cluster, ids)| async move {
            let error = Arc::new(self.take_over_in(&cluster, &ids, deadline).await.err()?);
            let tasks = ids.iter().map(|id| TaskArn::in_cluster(&cluster, id)).collect();
            Some(NotTakenOver { cluster, tasks, error })
        });
        concurrently(work).await.into_iter().flatten().collect()
    }

    async fn take_over_in(
        &self,
        cluster: &ClusterArn,
        tasks: &BTreeSet<TaskId>,
        deadline: Deadline,
    ) -> Result<(), ControllerError> {
        let orphaned = self.orphaned(cluster, tasks, deadline).await?;
        // First: a sync that fails is repeated by the messages.
        let asked = self.ask_until_next_sweep(cluster, &orphaned, deadline).await;
        self.sync_orphaned(cluster, &orphaned, deadline).await?;
        asked
    }

    /// Syncs the health of those of these tasks that still run without a health-sync.
    pub(crate) async fn sync(
        &self,
        cluster: &ClusterArn,
        tasks: &BTreeSet<TaskId>,
        deadline: Deadline,
    ) -> Result<(), ControllerError> {
        let orphaned = self.orphaned(cluster, tasks, deadline).await?;
        self.sync_orphaned(cluster, &orphaned, deadline).await
    }

    /// The plan for tasks that have lost their health-sync.
    pub(crate) fn planned(tasks: &[MeshTask]) -> Vec<(ClusterArn, Value)> {
        let action = HealingKind::Takeover.action();
        let plan = |task: &MeshTask| json!({ "action": action, "taskId": task.arn.id().as_str() });
        lost(tasks).map(|task| (task.cluster.clone(), plan(task))).collect()
    }

    /// Those of these tasks that still run without a health-sync. A task whose configuration is not known is not among
    /// them: nobody knows which of its containers are synced.
    async fn orphaned(
        &self,
        cluster: &ClusterArn,
        tasks: &BTreeSet<TaskId>,
        deadline: Deadline,
    ) -> Result<Vec<DescribedTask>, ControllerError> {
        let arns: Vec<TaskArn> = tasks.iter().map(|id| TaskArn::in_cluster(cluster, id)).collect();
        let reader = &self.health_sync.tasks;
        let described = deadline.run(reader.describe_existing(cluster, &arns)).await?;
        let definitions = reader.definitions(described.iter().map(|task| &task.definition), deadline).await;
        let is_enterprise = reader.scope.is_enterprise();
        let is_orphaned = |task: &DescribedTask| {
            definitions.get(&task.definition).is_some_and(|definition| {
                let facts = TaskFacts { cluster, task, definition, is_enterprise };
                reader.scope.losses(task, definition).health_sync && facts.synced_containers().is_some()
            })
        };
        Ok(described.into_iter().filter(is_orphaned).collect())
    }

    async fn sync_orphaned(
        &self,
        cluster: &ClusterArn,
        tasks: &[DescribedTask],
        deadline: Deadline,
    ) -> Result<(), ControllerError> {
        let problems = self.health_sync.sync_described(cluster, tasks, deadline).await.problems;
        if problems.is_empty() {
            return Ok(());
        }
        let reasons: Vec<String> = problems.into_iter().map(|problem| problem.reason).collect();
        Err(ControllerError::HealthNotSynced(reasons.join("; ")))
    }

    /// Sends the messages by which the tasks are synced until the next sweep; none for tasks with recent messages, and none
    /// in mode `observe`, in which each sync would find the same.
    async fn ask_until_next_sweep(
        &self,
        cluster: &ClusterArn,
        tasks: &[DescribedTask],
        deadline: Deadline,
    ) -> Result<(), ControllerError> {
        let Scope { operation, sweep_interval, .. } = *self.health_sync.tasks.scope.as_ref();
        if !operation.acts() {
            return Ok(());
        }
        let now = self.clock.now();
        let is_due =
            |task: &&DescribedTask| self.asked.get(&task.arn).is_none_or(|at| elapsed(at, now) >= sweep_interval / 2);
        let due: Vec<&DescribedTask> = tasks.iter().filter(is_due).collect();
        let ids: Vec<TaskId> = due.iter().map(|task| task.arn.id().clone()).collect();
        let bodies: Vec<String> =
            ids.chunks(DESCRIBE_LIMIT).map(|tasks| Message::health_takeover(cluster, tasks)).collect();
        let end = sweep_interval.min(MAX_DELAY);
        let mut delay = INTERVAL;
        while !bodies.is_empty() && delay <= end {
            deadline.run(self.queue.send_later(&bodies, delay)).await?;
            delay += INTERVAL;
        }
        for task in due {
            self.asked.insert(task.arn.clone(), now);
        }
        Ok(())
    }
}

/// The tasks that are meant to run and have lost their health-sync.
fn lost(tasks: &[MeshTask]) -> impl Iterator<Item = &MeshTask> {
    tasks.iter().filter(|task| task.losses.health_sync && task.phase == TaskPhase::Active)
}
