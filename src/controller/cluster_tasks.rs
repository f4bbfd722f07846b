//! Every task of whole clusters: what a service's idleness is judged by, and what a sweep looks at.

use std::{collections::BTreeSet, sync::Arc};

use futures::{StreamExt, TryStreamExt, future::try_join_all, stream};

use super::{
    CONCURRENCY, Controller, ControllerError, DESCRIBED_AT_ONCE,
    observe::{Definitions, is_unknown_definition},
};
use crate::{
    ecs::{ClusterStatus, EcsError},
    mesh::{
        arn::{ClusterArn, TaskDefinitionArn},
        idleness::ServiceTask,
        tags::Tags,
        task::DescribedTask,
    },
};

/// A cluster and every task of it that ECS still knows.
#[derive(Debug, Clone)]
pub(super) struct ClusterTasks {
    pub(super) cluster: ClusterArn,
    pub(super) tasks: Vec<DescribedTask>,
}

impl Controller {
    /// Every task of every configured cluster, with the services that each may be an instance of.
    ///
    /// # Errors
    /// Anything that could not be read: a service is idle only if that is proven.
    pub(super) async fn all_service_tasks(&self) -> Result<Vec<ServiceTask>, ControllerError> {
        let clusters = self.scope.clusters.iter().map(|cluster| self.tasks_of_existing(cluster));
        let clusters: Vec<ClusterTasks> = try_join_all(clusters).await?;
        let arns: BTreeSet<&TaskDefinitionArn> =
            clusters.iter().flat_map(|cluster| &cluster.tasks).map(|task| &task.definition).collect();
        let definitions: Definitions = stream::iter(arns)
            .map(|arn| async move {
                let definition = self.edges.ecs.task_definition(arn).await;
                (arn.clone(), definition.map_err(|e| Arc::new(ControllerError::from(e))))
            })
            .buffer_unordered(CONCURRENCY)
            .collect()
            .await;
        self.service_tasks(&clusters, &definitions).map_err(ControllerError::from)
    }

    /// The tasks of a cluster, which are none if ECS says that it was deleted.
    async fn tasks_of_existing(&self, cluster: &ClusterArn) -> Result<ClusterTasks, ControllerError> {
        match self.tasks_of(cluster).await {
            Err(error @ EcsError::UnknownCluster(_)) => {
                let statuses = self.edges.ecs.cluster_statuses(std::slice::from_ref(cluster)).await?;
                match statuses.get(cluster) {
                    Some(ClusterStatus::Deleted) => Ok(ClusterTasks { cluster: cluster.clone(), tasks: Vec::new() }),
                    _ => Err(error.into()),
                }
            }
            tasks => Ok(tasks?),
        }
    }

    /// The tasks of a cluster: listed, and described in hundreds.
    pub(super) async fn tasks_of(&self, cluster: &ClusterArn) -> Result<ClusterTasks, EcsError> {
        let listed = self.edges.ecs.list_tasks(cluster).await?;
        let pages = listed.chunks(DESCRIBED_AT_ONCE).map(|page| self.edges.ecs.describe_tasks(cluster, page));
        let described: Vec<Vec<DescribedTask>> =
            stream::iter(pages).buffer_unordered(CONCURRENCY).try_collect().await?;
        Ok(ClusterTasks { cluster: cluster.clone(), tasks: described.concat() })
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
