//! ECS services.

use std::collections::BTreeSet;

use async_trait::async_trait;
use aws_sdk_ecs::types::ServiceField;
use mesh::{
    arn::{ClusterArn, TaskArn},
    tags::Tags,
};

use super::{
    client::{AwsEcs, tags},
    error::EcsError,
};

/// The most services in one `DescribeServices`.
const DESCRIBE_LIMIT: usize = 10;
/// The longest reason of `StopTask`, in characters.
const MAX_REASON: usize = 1_024;

/// An ECS service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EcsService {
    /// Its name.
    pub name: String,
    /// Its tags.
    pub tags: Tags,
    /// How many tasks it wants.
    pub desired: usize,
}

/// Reads ECS services, and stops their tasks.
#[async_trait]
pub trait EcsServices: Send + Sync {
    /// Describes services of one cluster. Those that ECS does not know are not in the result.
    async fn services(&self, cluster: &ClusterArn, names: &[String]) -> Result<Vec<EcsService>, EcsError>;

    /// Which of these tasks of services are protected from being stopped:
    /// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection.html>
    async fn protected_tasks(&self, cluster: &ClusterArn, tasks: &[TaskArn]) -> Result<BTreeSet<TaskArn>, EcsError>;

    /// Tells a task to stop. `reason` is shown with the task.
    async fn stop_task(&self, cluster: &ClusterArn, task: &TaskArn, reason: &str) -> Result<(), EcsError>;
}

#[async_trait]
impl EcsServices for AwsEcs {
    async fn services(&self, cluster: &ClusterArn, names: &[String]) -> Result<Vec<EcsService>, EcsError> {
        let subject = || format!("{} services of cluster {cluster}", names.len());
        let mut services = Vec::new();
        for chunk in names.chunks(DESCRIBE_LIMIT) {
            let call = self.client.describe_services().cluster(cluster.as_str()).set_services(Some(chunk.to_vec()));
            let answer = call.include(ServiceField::Tags).send().await;
            let answer = answer.map_err(|e| EcsError::failed(subject(), &e))?;
            if let Some(failure) = answer.failures().iter().find(|failure| failure.reason() != Some("MISSING")) {
                let reason = failure.reason().unwrap_or("no reason given").to_owned();
                return Err(EcsError::Failed { subject: subject(), reason });
            }
            services.extend(answer.services().iter().map(|service| EcsService {
                name: service.service_name().unwrap_or_default().to_owned(),
                tags: tags(service.tags()),
                desired: usize::try_from(service.desired_count()).unwrap_or_default(),
            }));
        }
        Ok(services)
    }

    async fn protected_tasks(&self, cluster: &ClusterArn, tasks: &[TaskArn]) -> Result<BTreeSet<TaskArn>, EcsError> {
        let subject = || format!("protection of {} tasks of cluster {cluster}", tasks.len());
        let mut protected = BTreeSet::new();
        for chunk in tasks.chunks(super::DESCRIBE_LIMIT) {
            let arns = chunk.iter().map(|task| task.as_str().to_owned()).collect();
            let call = self.client.get_task_protection().cluster(cluster.as_str()).set_tasks(Some(arns));
            let answer = call.send().await.map_err(|e| EcsError::failed(subject(), &e))?;
            // A task of which nothing is said counts as protected.
            let free = answer.protected_tasks().iter().filter(|task| !task.protection_enabled());
            let free: BTreeSet<&str> = free.filter_map(|task| task.task_arn()).collect();
            protected.extend(chunk.iter().filter(|task| !free.contains(task.as_str())).cloned());
        }
        Ok(protected)
    }

    async fn stop_task(&self, cluster: &ClusterArn, task: &TaskArn, reason: &str) -> Result<(), EcsError> {
        let call = self.client.stop_task().cluster(cluster.as_str()).task(task.as_str());
        let reason: String = reason.chars().take(MAX_REASON).collect();
        let stopped = call.reason(reason).send().await;
        stopped.map(drop).map_err(|e| EcsError::failed(format!("task {task}"), &e))
    }
}
