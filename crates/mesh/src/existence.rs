//! Whether a task exists, as an answer of ECS says. Absence from an answer proves nothing: answers of ECS lag behind each other, and
//! ECS forgets a task an hour after its end.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use crate::{
    arn::{ClusterArn, TaskArn},
    task::{DescribedTask, TaskPhase},
};

/// How long ECS describes a stopped task:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DescribeTasks.html>
pub const DESCRIBED_FOR: Duration = Duration::from_hours(1);

/// What an answer of ECS says of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existence<'a> {
    /// ECS describes it, and has not told it to stop.
    Running(&'a Arc<DescribedTask>),
    /// Its desired or its last status is `STOPPED`, or ECS has deleted its cluster. Unless it `is_stopped`, its containers may still run.
    Ended { is_stopped: bool },
    /// ECS describes it in a status that this version does not know: it lives, and nothing of it is removed.
    Living,
    /// ECS does not describe it, or could not be read.
    NotKnown,
}

/// What ECS says of the tasks that it was asked for.
#[derive(Debug, Default)]
pub struct Answers {
    described: BTreeMap<TaskArn, Arc<DescribedTask>>,
    deleted: BTreeSet<ClusterArn>,
}

impl Answers {
    /// ECS has deleted the cluster, so none of its tasks runs.
    pub fn of_deleted(cluster: ClusterArn) -> Self {
        Self { described: BTreeMap::new(), deleted: BTreeSet::from([cluster]) }
    }

    pub fn extend(&mut self, more: Self) {
        self.described.extend(more.described);
        self.deleted.extend(more.deleted);
    }

    pub fn existence(&self, task: &TaskArn) -> Existence<'_> {
        match self.described.get(task) {
            Some(described) => match described.phase {
                TaskPhase::Active => Existence::Running(described),
                TaskPhase::Stopping => Existence::Ended { is_stopped: false },
                TaskPhase::Stopped => Existence::Ended { is_stopped: true },
                TaskPhase::Unknown => Existence::Living,
            },
            None if self.deleted.iter().any(|cluster| task.is_in(cluster)) => Existence::Ended { is_stopped: true },
            None => Existence::NotKnown,
        }
    }

    /// The task, if it is meant to run.
    pub fn running(&self, task: &TaskArn) -> Option<&Arc<DescribedTask>> {
        match self.existence(task) {
            Existence::Running(described) => Some(described),
            Existence::Ended { .. } | Existence::Living | Existence::NotKnown => None,
        }
    }
}

impl FromIterator<Arc<DescribedTask>> for Answers {
    fn from_iter<T: IntoIterator<Item = Arc<DescribedTask>>>(tasks: T) -> Self {
        let described = tasks.into_iter().map(|task| (task.arn.clone(), task)).collect();
        Self { described, deleted: BTreeSet::new() }
    }
}
