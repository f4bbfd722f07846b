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
    task::{DescribedTask, MeshTask},
    time::elapsed,
};

use crate::{
    clock::Clock, deadline::Deadline, error::ControllerError, health_sync::HealthSync, message::Message,
    outcome::concurrently, timestamp_cache::TimestampCache,
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

impl Takeover {
    /// Takes the tasks over that have lost their health-sync: syncs their health, and asks for it until the next sweep.
    pub(crate) async fn take_over(
        &self,
        tasks: &[MeshTask],
        deadline: Deadline,
    ) -> Vec<(TaskArn, Arc<ControllerError>)> {
        let mut clusters: BTreeMap<&ClusterArn, Vec<&MeshTask>> = BTreeMap::new();
        for task in tasks.iter().filter(|task| task.losses.health_sync && task.phase == TaskPhase::Active) {
            clusters.entry(&task.cluster).or_default().push(task);
        }
        let work = clusters.into_iter().map(|(cluster, tasks)| async move {
            let ids: BTreeSet<TaskId> = tasks.iter().map(|task| task.arn.id().clone()).collect();
            let synced = self.sync(cluster, &ids, deadline).await;
            let taken = async {
                let synced = synced?;
                let taken: Vec<&MeshTask> =
                    tasks.iter().copied().filter(|task| synced.contains(task.arn.id())).collect();
                self.ask_until_next_sweep(cluster, &taken, deadline).await
            };
            let error = taken.await.map_err(Arc::new).err();
            let failed = tasks.into_iter().filter_map(move |task| Some((task.arn.clone(), error.clone()?)));
            failed.collect::<Vec<_>>()
        });
        concurrently(work).await.concat()
    }

    /// Syncs the health of those of these tasks that still run without a health-sync, and returns them.
    pub(crate) async fn sync(
        &self,
        cluster: &ClusterArn,
        tasks: &BTreeSet<TaskId>,
        deadline: Deadline,
    ) -> Result<BTreeSet<TaskId>, ControllerError> {
        let arns: Vec<TaskArn> = tasks.iter().map(|id| TaskArn::in_cluster(cluster, id)).collect();
        let reader = &self.health_sync.tasks;
        let described = deadline.run(reader.describe_all(cluster, &arns)).await?;
        let definitions = reader.definitions(described.iter().map(|task| &task.definition), deadline).await;
        let is_orphaned = |task: &DescribedTask| {
            let losses = definitions.losses(&task.definition, &task.stopped_containers());
            losses.health_sync && !task.placement.is_disconnected
        };
        let orphaned: Vec<DescribedTask> = described.into_iter().filter(is_orphaned).collect();
        let report = deadline.run(self.health_sync.sync_described(cluster, &orphaned, deadline)).await?;
        match report.problems.into_iter().next() {
            Some(problem) => Err(ControllerError::HealthNotSynced(problem.reason)),
            None => Ok(orphaned.iter().map(|task| task.arn.id().clone()).collect()),
        }
    }

    /// Sends the messages by which the tasks are synced until the next sweep; none for tasks with recent messages.
    async fn ask_until_next_sweep(
        &self,
        cluster: &ClusterArn,
        tasks: &[&MeshTask],
        deadline: Deadline,
    ) -> Result<(), ControllerError> {
        let (now, sweep_interval) = (self.clock.now(), self.health_sync.tasks.scope.sweep_interval);
        let is_due =
            |task: &&MeshTask| self.asked.get(&task.arn).is_none_or(|asked| elapsed(asked, now) >= sweep_interval / 2);
        let due: Vec<&MeshTask> = tasks.iter().copied().filter(is_due).collect();
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
