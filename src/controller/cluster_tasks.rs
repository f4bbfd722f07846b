//! Every task of whole clusters: what a service's idleness is judged by, and what a sweep looks at.

use std::{collections::BTreeSet, sync::Arc};

use futures::{StreamExt, TryStreamExt, future::try_join_all, stream};

use super::{
    CONCURRENCY, Controller, ControllerError, DESCRIBED_AT_ONCE, Deadline,
    observe::{Definitions, is_unknown_definition},
};
use crate::ecs::{ClusterStatus, EcsError, TaskList};
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    idleness::{ServiceTask, TaskListing},
    mutant::{self, Mutant},
    tags::Tags,
    task::DescribedTask,
};

/// A cluster and every task of it that ECS still knows.
#[derive(Debug, Clone)]
pub(super) struct ClusterTasks {
    pub(super) cluster: ClusterArn,
    pub(super) tasks: Vec<DescribedTask>,
}

impl Controller {
    /// Every task of every configured cluster, with the services that each may be an instance of, as listed from now on.
    ///
    /// # Errors
    /// Anything that could not be read: a service is idle only if that is proven.
    pub(super) async fn list_all_tasks(&self, deadline: Deadline) -> Result<TaskListing, ControllerError> {
        let listed_at = self.edges.clock.now();
        let clusters = self.scope.clusters.iter().map(|cluster| self.tasks_of_existing(cluster));
        let clusters: Vec<ClusterTasks> = try_join_all(clusters).await?;
        let arns: BTreeSet<&TaskDefinitionArn> =
            clusters.iter().flat_map(|cluster| &cluster.tasks).map(|task| &task.definition).collect();
        let definitions = self.definitions(arns, deadline).await;
        let tasks = self.service_tasks(&clusters, &definitions)?;
        Ok(TaskListing { listed_at, tasks })
    }

    /// The tasks of a cluster, which are none if ECS says that it was deleted.
    async fn tasks_of_existing(&self, cluster: &ClusterArn) -> Result<ClusterTasks, ControllerError> {
        match self.tasks_of(cluster).await {
            Err(error @ (EcsError::UnknownCluster(_) | EcsError::NotDescribed(_))) => {
                let statuses = self.edges.ecs.cluster_statuses(std::slice::from_ref(cluster)).await?;
                match statuses.get(cluster) {
                    Some(ClusterStatus::Deleted) => Ok(ClusterTasks { cluster: cluster.clone(), tasks: Vec::new() }),
                    _ => Err(error.into()),
                }
            }
            Err(_) if mutant::is(Mutant::UnreadIsEmpty) => {
                Ok(ClusterTasks { cluster: cluster.clone(), tasks: Vec::new() })
            }
            tasks => Ok(tasks?),
        }
    }

    /// The tasks of a cluster: listed, and described. A stopped one may be forgotten between the two.
    ///
    /// # Errors
    /// [`EcsError::NotDescribed`] where that seems to have happened to a running one: ECS's answers lag behind each other,
    /// and a task that has just started would pass for none.
    pub(super) async fn tasks_of(&self, cluster: &ClusterArn) -> Result<ClusterTasks, EcsError> {
        let TaskList { running, stopped } = self.edges.ecs.list_tasks(cluster).await?;
        let running: Vec<TaskArn> =
            running.into_iter().take(if mutant::is(Mutant::PartialPage) { 1 } else { usize::MAX }).collect();
        let listed: BTreeSet<TaskArn> = running.iter().chain(&stopped).cloned().collect();
        let tasks = self.describe_all(cluster, &Vec::from_iter(listed)).await?;
        let described: BTreeSet<&TaskArn> = tasks.iter().map(|task| &task.arn).collect();
        match running.into_iter().find(|task| !described.contains(task)) {
            Some(task) => Err(EcsError::NotDescribed(task)),
            None => Ok(ClusterTasks { cluster: cluster.clone(), tasks }),
        }
    }

    /// Describes tasks of a cluster in hundreds, several at once.
    pub(super) async fn describe_all(
        &self,
        cluster: &ClusterArn,
        tasks: &[TaskArn],
    ) -> Result<Vec<DescribedTask>, EcsError> {
        let pages = tasks.chunks(DESCRIBED_AT_ONCE).map(|page| self.edges.ecs.describe_tasks(cluster, page));
        let described: Vec<Vec<DescribedTask>> =
            stream::iter(pages).buffer_unordered(CONCURRENCY).try_collect().await?;
        Ok(described.concat())
    }

    /// The services that each task may be an instance of.
    ///
    /// # Errors
    /// The definition of a living task could not be read.
    pub(super) fn service_tasks(
        &self,
        clusters: &[ClusterTasks],
        definitions: &Definitions,
    ) -> Result<Vec<ServiceTask>, Arc<ControllerError>> {
        let tasks = clusters.iter().flat_map(|of| of.tasks.iter().map(|task| (&of.cluster, task)));
        tasks.map(|(cluster, task)| self.service_task(cluster, task, definitions)).collect()
    }

    fn service_task(
        &self,
        cluster: &ClusterArn,
        task: &DescribedTask,
        definitions: &Definitions,
    ) -> Result<ServiceTask, Arc<ControllerError>> {
        let mut services = Vec::new();
        match definitions.get(&task.definition) {
            Some(Ok(definition)) => {
                for tags in [&task.tags, &Tags::default()] {
                    // A living task with illegal tags never had a token; it cannot lose one.
                    let identity = definition.identify(tags, self.scope.tenancy_of(cluster)).ok().flatten();
                    services.extend(identity.map(|identity| identity.service));
                }
            }
            // What a stopped task was matters only for a while after its end, while ECS still has its definition.
            Some(Err(error)) if is_unknown_definition(error) && !task.phase.is_living() => {}
            Some(Err(error)) => return Err(Arc::clone(error)),
            None => {}
        }
        Ok(ServiceTask { arn: task.arn.clone(), phase: task.phase, stopped_at: task.stopped_at, services })
    }
}
