//! ECS through the AWS SDK.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_ecs::{
    Client,
    error::SdkError,
    types::{
        ContainerDefinition, DesiredStatus, HealthStatus, Tag, Task, TaskDefinition as EcsTaskDefinition,
        TaskDefinitionField, TaskField,
    },
};
use jiff::Timestamp;
use lru::LruCache;

use super::{ClusterStatus, Ecs, EcsError, TaskList, addresses, coverage::check_coverage};
use crate::aws::describe;
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    ecs_config::CONFIG_VARIABLE,
    field::InvalidField,
    identity::{Container, TaskDefinition},
    phase::TaskPhase,
    tags::Tags,
    task::{ContainerHealth, DescribedTask, TaskContainer},
};

/// How many revisions an environment remembers.
const REMEMBERED_DEFINITIONS: NonZeroUsize = NonZeroUsize::new(2_000).expect("2,000 is not zero");
/// The most tasks that one `DescribeTasks` takes, and clusters that one `DescribeClusters` does.
pub(super) const DESCRIBE_LIMIT: usize = 100;

/// The account's ECS.
pub struct AwsEcs {
    client: Client,
    definitions: Mutex<LruCache<TaskDefinitionArn, Arc<TaskDefinition>>>,
}

impl AwsEcs {
    /// ECS in the configuration's region.
    #[must_use]
    pub fn new(config: &SdkConfig) -> Self {
        Self { client: Client::new(config), definitions: Mutex::new(LruCache::new(REMEMBERED_DEFINITIONS)) }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    async fn fetch_definition(&self, arn: &TaskDefinitionArn) -> Result<TaskDefinition, EcsError> {
        let call = self.client.describe_task_definition().task_definition(arn.as_str());
        let answer = call.include(TaskDefinitionField::Tags).send().await.map_err(|e| match e {
            // ECS answers ClientException for a revision that was deleted.
            SdkError::ServiceError(e) if e.err().is_client_exception() => EcsError::UnknownTaskDefinition(arn.clone()),
            other => failed(format!("task definition {arn}"), &other),
        })?;
        let containers = answer.task_definition().map(EcsTaskDefinition::container_definitions).unwrap_or_default();
        let mut variables = containers.iter().flat_map(ContainerDefinition::environment);
        let config = variables.find(|variable| variable.name() == Some(CONFIG_VARIABLE));
        Ok(TaskDefinition {
            arn: arn.clone(),
            tags: tags(answer.tags()),
            config_json: config.and_then(|variable| variable.value()).map(str::to_owned),
            containers: containers.iter().map(read_container).collect(),
        })
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
                other => failed(subject(), &other),
            })?;
            for arn in page.task_arns() {
                tasks.push(arn.parse().map_err(|source| EcsError::Malformed { subject: subject(), source })?);
            }
        }
        Ok(tasks)
    }
}

#[async_trait]
impl Ecs for AwsEcs {
    async fn task_definition(&self, arn: &TaskDefinitionArn) -> Result<Arc<TaskDefinition>, EcsError> {
        let remembered = self.definitions.lock().unwrap_or_else(PoisonError::into_inner).get(arn).cloned();
        if let Some(definition) = remembered {
            return Ok(definition);
        }
        let definition = Arc::new(self.fetch_definition(arn).await?);
        let mut definitions = self.definitions.lock().unwrap_or_else(PoisonError::into_inner);
        definitions.put(arn.clone(), Arc::clone(&definition));
        Ok(definition)
    }

    fn forget(&self, arn: &TaskDefinitionArn) {
        self.definitions.lock().unwrap_or_else(PoisonError::into_inner).pop(arn);
    }

    async fn cluster_statuses(&self, clusters: &[ClusterArn]) -> Result<BTreeMap<ClusterArn, ClusterStatus>, EcsError> {
        let subject = || format!("{} clusters", clusters.len());
        let mut statuses = BTreeMap::new();
        for chunk in clusters.chunks(DESCRIBE_LIMIT) {
            let names = chunk.iter().map(|cluster| cluster.as_str().to_owned()).collect();
            let call = self.client.describe_clusters().set_clusters(Some(names));
            let answer = call.send().await.map_err(|e| failed(subject(), &e))?;
            if let Some(failure) = answer.failures().iter().find(|failure| failure.reason() != Some("MISSING")) {
                let reason = failure.reason().unwrap_or("no reason given").to_owned();
                return Err(EcsError::Failed { subject: subject(), reason });
            }
            for cluster in chunk {
                let described = answer.clusters().iter().find(|known| known.cluster_arn() == Some(cluster.as_str()));
                let status = match described.and_then(|described| described.status()) {
                    Some("INACTIVE") => ClusterStatus::Deleted,
                    // PROVISIONING, DEPROVISIONING and FAILED are about capacity providers.
                    Some(_) => ClusterStatus::Active,
                    None => ClusterStatus::Unknown,
                };
                statuses.insert(cluster.clone(), status);
            }
        }
        Ok(statuses)
    }

    async fn list_running(&self, cluster: &ClusterArn) -> Result<Vec<TaskArn>, EcsError> {
        self.list(cluster, DesiredStatus::Running).await
    }

    async fn list_tasks(&self, cluster: &ClusterArn) -> Result<TaskList, EcsError> {
        // A task that is told to stop moves from the first list to the second, long before it stops. In this order it is
        // in at least one of them.
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
                other => failed(subject(), &other),
            })?;
            check_coverage(chunk, answer.tasks(), answer.failures())
                .map_err(|reason| EcsError::Failed { subject: subject(), reason })?;
            for task in answer.tasks() {
                described.push(read_task(task).map_err(|source| EcsError::Malformed { subject: subject(), source })?);
            }
        }
        Ok(described)
    }

    async fn addresses(&self, cluster: &str, family_or_service: &str) -> Result<Vec<IpAddr>, EcsError> {
        addresses::of_running_tasks(&self.client, cluster, family_or_service).await
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

fn read_container(container: &ContainerDefinition) -> Container {
    Container {
        name: container.name().unwrap_or_default().to_owned(),
        // ECS's default.
        essential: container.essential().unwrap_or(true),
        has_health_check: container.health_check().is_some(),
    }
}

fn tags(tags: &[Tag]) -> Tags {
    tags.iter().filter_map(|tag| Some((tag.key()?, tag.value().unwrap_or_default()))).collect()
}

pub(super) fn failed<E: std::error::Error + 'static>(subject: String, error: &E) -> EcsError {
    EcsError::Failed { subject, reason: describe(error) }
}
