//! Amazon ECS.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use aws::ecs::{ClusterStatus, Clusters, EcsError, EcsService, EcsServices, TaskDefinitions, TaskList, Tasks};
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    definition::TaskDefinition,
    task::DescribedTask,
};

use super::Observing;

#[async_trait]
impl TaskDefinitions for Observing {
    async fn task_definition(&self, arn: &TaskDefinitionArn) -> Result<Arc<TaskDefinition>, EcsError> {
        self.0.ecs.task_definition(arn).await
    }

    async fn active_definitions(&self) -> Result<Vec<TaskDefinitionArn>, EcsError> {
        self.0.ecs.active_definitions().await
    }

    fn forget(&self, arn: &TaskDefinitionArn) {
        self.0.ecs.forget(arn);
    }
}

#[async_trait]
impl Clusters for Observing {
    async fn list_clusters(&self) -> Result<Vec<ClusterArn>, EcsError> {
        self.0.ecs.list_clusters().await
    }

    async fn cluster_statuses(&self, clusters: &[ClusterArn]) -> Result<BTreeMap<ClusterArn, ClusterStatus>, EcsError> {
        self.0.ecs.cluster_statuses(clusters).await
    }
}

#[async_trait]
impl EcsServices for Observing {
    async fn services(&self, cluster: &ClusterArn, names: &[String]) -> Result<Vec<EcsService>, EcsError> {
        self.0.ecs.services(cluster, names).await
    }
}

#[async_trait]
impl Tasks for Observing {
    async fn list_tasks(&self, cluster: &ClusterArn) -> Result<TaskList, EcsError> {
        self.0.ecs.list_tasks(cluster).await
    }

    async fn describe_tasks(&self, cluster: &ClusterArn, tasks: &[TaskArn]) -> Result<Vec<DescribedTask>, EcsError> {
        self.0.ecs.describe_tasks(cluster, tasks).await
    }
}
