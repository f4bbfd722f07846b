//! Tasks: listed and described.

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_ecs::{
    error::SdkError,
    types::{Connectivity, ContainerOverride, DesiredStatus, HealthStatus, LaunchType, Task, TaskField},
};
use aws_smithy_types::DateTime;
use jiff::Timestamp;
use mesh::{
    arn::{ClusterArn, TaskArn},
    ecs_config::{CONFIG_VARIABLE, REGION_VARIABLE},
    field::InvalidField,
    phase::TaskPhase,
    task::{ContainerHealth, DescribedTask, Placement, TaskContainer},
};

use super::{
    addresses::ipv4_of,
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
    async fn list_tasks(&self, cluster: &ClusterArn) -> Result<TaskList, EcsError> {
        // A stopping task moves from the first list to the second one. In this order it is in at least one of them.
        let running = self.list(cluster, DesiredStatus::Running).await?;
        let stopped = self.list(cluster, DesiredStatus::Stopped).await?;
        Ok(TaskList { running, stopped })
    }

    async fn describe_tasks(&self, cluster: &ClusterArn, tasks: &[TaskArn]) -> Result<Vec<DescribedTask>, EcsError> {
        self.describe(cluster, tasks, read_task).await
    }
}

impl AwsEcs {
    /// Describes tasks of one cluster, and reads each answer by `read`.
    pub(super) async fn describe<T>(
        &self,
        cluster: &ClusterArn,
        tasks: &[TaskArn],
        read: fn(&Task) -> Result<T, InvalidField>,
    ) -> Result<Vec<T>, EcsError> {
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
                described.push(read(task).map_err(|source| EcsError::Malformed { subject: subject(), source })?);
            }
        }
        Ok(described)
    }

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

pub(super) fn read_task(task: &Task) -> Result<DescribedTask, InvalidField> {
    Ok(DescribedTask {
        arn: task.task_arn().unwrap_or_default().parse()?,
        definition: task.task_definition_arn().unwrap_or_default().parse()?,
        phase: TaskPhase::from_statuses(
            task.last_status().unwrap_or_default(),
            task.desired_status().unwrap_or_default(),
        )?,
        is_counted: matches!(task.last_status(), Some("RUNNING" | "PENDING")),
        tags: tags(task.tags()),
        stopped_at: task.stopped_at().and_then(timestamp),
        containers: task.containers().iter().filter_map(read_task_container).collect(),
        placement: read_placement(task),
    })
}

pub(super) fn timestamp(at: &DateTime) -> Option<Timestamp> {
    Timestamp::from_second(at.secs()).ok()
}

fn read_placement(task: &Task) -> Placement {
    let overrides = task.overrides().map(aws_sdk_ecs::types::TaskOverride::container_overrides).unwrap_or_default();
    let of = |container: &ContainerOverride| Some((container.name()?.to_owned(), variables(container)));
    let is_rewritten =
        |container: &&ContainerOverride| !container.command().is_empty() || !container.environment_files().is_empty();
    let rewritten = overrides.iter().filter(is_rewritten).filter_map(|container| container.name().map(str::to_owned));
    Placement {
        is_running: task.last_status() == Some("RUNNING"),
        is_disconnected: task.connectivity() == Some(&Connectivity::Disconnected),
        address: ipv4_of(task),
        zone: task.availability_zone().map(str::to_owned),
        is_on_fargate: task.launch_type() == Some(&LaunchType::Fargate),
        service: task.group().and_then(|group| group.strip_prefix("service:")).map(str::to_owned),
        created_at: task.created_at().and_then(timestamp),
        started_at: task.started_at().and_then(timestamp),
        role: task.overrides().and_then(|own| own.task_role_arn()).map(str::to_owned),
        overrides: overrides.iter().filter_map(of).filter(|(_, variables)| !variables.is_empty()).collect(),
        rewritten: rewritten.collect(),
    }
}

/// The variables that decide what a task registers: the values of others may be secret.
fn variables(container: &ContainerOverride) -> BTreeMap<String, String> {
    let all = container.environment().iter().filter_map(|pair| Some((pair.name()?, pair.value()?)));
    let wanted = all.filter(|(name, _)| [CONFIG_VARIABLE, REGION_VARIABLE].contains(name));
    wanted.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn read_task_container(container: &aws_sdk_ecs::types::Container) -> Option<TaskContainer> {
    let health = match container.health_status() {
        Some(HealthStatus::Healthy) => ContainerHealth::Healthy,
        Some(HealthStatus::Unhealthy) => ContainerHealth::Unhealthy,
        _ => ContainerHealth::Unknown,
    };
    let is_stopped = container.last_status() == Some("STOPPED");
    Some(TaskContainer { name: container.name()?.to_owned(), health, is_stopped, exit_code: container.exit_code() })
}
