//! Tasks: listed and described.

use async_trait::async_trait;
use aws_sdk_ecs::{
    error::SdkError,
    types::{DesiredStatus, HealthStatus, Task, TaskField},
};
use jiff::Timestamp;
use mesh::{
    arn::{ClusterArn, TaskArn},
    field::InvalidField,
    phase::TaskPhase,
    task::{ContainerHealth, DescribedTask, TaskContainer},
};

use super::{
    client::{AwsEcs, DESCRIBE_LIMIT, tags},
    coverage::check_coverage,
    error::EcsError,
};

/// The tasks of a cluster, as ECS lists them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskList {
    /// Tasks with desired status `RUNNING`.
    pub running: Vec<TaskArn>,
    /// Tasks with desired status `STOPPED`, which ECS may drop at any time. A task whose desired status changed during
    /// the listing may be in both lists.
    pub stopped: Vec<TaskArn>,
}

/// Reads tasks.
#[async_trait]
pub trait Tasks: Send + Sync {
    /// The tasks of a cluster with desired status `RUNNING`.
    async fn list_running(&self, cluster: &ClusterArn) -> Result<Vec<TaskArn>, EcsError>;

    /// Every task of a cluster, including stopped ones, which ECS keeps for about one hour.
    ///
    /// # Errors
    /// A page could not be read. [`EcsError::UnknownCluster`] if the cluster does not exist.
    async fn list_tasks(&self, cluster: &ClusterArn) -> Result<TaskList, EcsError>;

    /// Describes tasks of one cluster, with their tags. ECS does not know those that are not in the result.
    ///
    /// # Errors
    /// A task is neither described nor reported as missing. [`EcsError::UnknownCluster`] if the cluster does not exist.
    async fn describe_tasks(&self, cluster: &ClusterArn, tasks: &[TaskArn]) -> Result<Vec<DescribedTask>, EcsError>;
}

#[async_trait]
impl Tasks for AwsEcs {
    async fn list_running(&self, cluster: &ClusterArn) -> Result<Vec<TaskArn>, EcsError> {
        self.list(cluster, DesiredStatus::Running).await
    }

    async fn list_tasks(&self, cluster: &ClusterArn) -> Result<TaskList, EcsError> {
        // A stopping task moves from the first list to the second one. In this order it is in at least one of them.
        let running = self.list(cluster, DesiredStatus::Running).await?;
        let stopped = self.list(cluster, DesiredStatus::Stopped).await?;
        Ok(TaskList { running, stopped })
    }

    async fn describe_tasks(&self, cluster: &ClusterArn, tasks: &[TaskArn]) -> Result<Vec<DescribedTask>, EcsError> {
        let subject = || format!("{} tasks of cluster {cluster}", tasks.len());
        let mut described = Vec::new();
        for chunk in tasks.chunks(DESCRIBE_LIMIT) {
            let call = self.client.describe_tasks().cluster(cluster.as_str()).include(TaskField::Tags);
            let ids = chunk.iter().map(|task| task.as_str().to_owned()).collect();
            let answer = call.set_tasks(Some(ids)).send().await.map_err(|e| match e {
                SdkError::ServiceError(e) if e.err().is_cluster_not_found_exception() => {
                    EcsError::UnknownCluster(cluster.clone())
                }
                other => EcsError::failed(subject(), &other),
            })?;
            check_coverage(chunk, answer.tasks(), answer.failures())
                .map_err(|gap| EcsError::Failed { subject: subject(), reason: gap.to_string() })?;
            for task in answer.tasks() {
                described.push(read_task(task).map_err(|source| EcsError::Malformed { subject: subject(), source })?);
            }
        }
        Ok(described)
    }
}

impl AwsEcs {
    async fn list(&self, cluster: &ClusterArn, status: DesiredStatus) -> Result<Vec<TaskArn>, EcsError> {
        let subject = || format!("tasks of cluster {cluster}");
        let mut pages =
            self.client.list_tasks().cluster(cluster.as_str()).desired_status(status).into_paginator().send();
        let mut tasks = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|e| match e {
                SdkError::ServiceError(e) if e.err().is_cluster_not_found_exception() => {
                    EcsError::UnknownCluster(cluster.clone())
                }
                other => EcsError::failed(subject(), &other),
            })?;
            for arn in page.task_arns() {
                tasks.push(arn.parse().map_err(|source| EcsError::Malformed { subject: subject(), source })?);
            }
        }
        Ok(tasks)
    }
}

fn read_task(task: &Task) -> Result<DescribedTask, InvalidField> {
    Ok(DescribedTask {
        arn: task.task_arn().unwrap_or_default().parse()?,
        definition: task.task_definition_arn().unwrap_or_default().parse()?,
        phase: TaskPhase::from_statuses(
            task.last_status().unwrap_or_default(),
            task.desired_status().unwrap_or_default(),
        )?,
        tags: tags(task.tags()),
        stopped_at: task.stopped_at().and_then(|at| Timestamp::from_second(at.secs()).ok()),
        containers: task.containers().iter().filter_map(read_task_container).collect(),
    })
}

fn read_task_container(container: &aws_sdk_ecs::types::Container) -> Option<TaskContainer> {
    let health = match container.health_status() {
        Some(HealthStatus::Healthy) => ContainerHealth::Healthy,
        Some(HealthStatus::Unhealthy) => ContainerHealth::Unhealthy,
        _ => ContainerHealth::Unknown,
    };
    Some(TaskContainer { name: container.name()?.to_owned(), health })
}
