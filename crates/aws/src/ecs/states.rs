//! The state of clusters, for people: what services want, why tasks have stopped, and which images they run.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use async_trait::async_trait;
use aws_sdk_ecs::types::{
    Container, ContainerDefinition, Deployment, DeploymentRolloutState, LaunchType, LogDriver, ProxyConfiguration,
    ProxyConfigurationType, Service, ServiceEvent, Task, TaskDefinition as EcsTaskDefinition, TaskStopCode,
};
use jiff::Timestamp;
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    definition::TaskDefinition,
    field::InvalidField,
    task::DescribedTask,
    task_end::{ContainerEnd, TaskEnd},
};

use super::{
    client::AwsEcs,
    definitions::read_definition,
    error::EcsError,
    tasks::{read_task, timestamp},
};

/// The most services on one page of `ListServices`.
const PAGE: i32 = 100;
/// The most services in one `DescribeServices`.
const DESCRIBE_LIMIT: usize = 10;

/// An ECS service, and what it wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceState {
    /// Its name.
    pub name: String,
    /// The revision of its tasks; `None` with an external deployment controller.
    pub definition: Option<TaskDefinitionArn>,
    /// How many tasks it wants.
    pub desired: usize,
    /// When its deployment last changed.
    pub deployed_at: Option<Timestamp>,
    /// Why it could not start a task, if the newest of its events says so.
    pub trouble: Option<String>,
    /// The launch type, or the capacity providers, of its tasks.
    pub runs_on: BTreeSet<String>,
    /// What it has said, newest first. ECS keeps 100 events.
    pub events: Vec<ServiceSaid>,
    /// Its deployments, newest first.
    pub deployments: Vec<ServiceDeployment>,
}

/// An event of an ECS service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceSaid {
    /// When it was.
    pub at: Timestamp,
    /// What it says, without the name of the service.
    pub message: String,
}

/// A deployment of an ECS service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceDeployment {
    /// Its ID, `ecs-svc/…`, which is in the reason of the tasks that it stops.
    pub id: String,
    /// The revision that it deploys.
    pub definition: TaskDefinitionArn,
    /// When it began.
    pub created_at: Option<Timestamp>,
    /// Why it failed or was rolled back, if ECS says so.
    pub failure: Option<String>,
}

/// A task, and what ECS says about its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskState {
    /// The task.
    pub task: DescribedTask,
    /// Its last status, as in the API of ECS.
    pub last_status: String,
    /// Why it has stopped although nobody told it to.
    pub failure: Option<String>,
    /// Its capacity provider, or its launch type.
    pub runs_on: Option<String>,
    /// What has happened to it.
    pub history: TaskHistory,
}

/// What has happened to a task, as far as ECS says when.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskHistory {
    /// When the pull of its images began.
    pub pull_started_at: Option<Timestamp>,
    /// When it was told to stop, or ECS decided it.
    pub stopping_at: Option<Timestamp>,
    /// Its creation, its start and its end; the reasons of its containers also while it runs.
    pub end: TaskEnd,
}

/// A revision of a task definition, and its images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionState {
    /// The definition.
    pub definition: Arc<TaskDefinition>,
    /// The image of each container.
    pub images: BTreeMap<String, String>,
    /// Whether its proxy is configured for AWS App Mesh.
    pub is_in_app_mesh: bool,
    /// When it was registered.
    pub registered_at: Option<Timestamp>,
    /// Where each container writes its log, if that is CloudWatch Logs.
    pub logs: BTreeMap<String, ContainerLog>,
}

/// Where a container writes its log: <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using_awslogs.html>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerLog {
    /// The log group.
    pub group: String,
    /// The prefix of the names of its streams; without one, their names are not known.
    pub stream_prefix: Option<String>,
}

/// Reads the state of clusters.
#[async_trait]
pub trait ClusterStates: Send + Sync {
    /// The services of a cluster.
    async fn service_states(&self, cluster: &ClusterArn) -> Result<Vec<ServiceState>, EcsError>;

    /// Describes tasks of one cluster, as [`super::Tasks::describe_tasks`].
    async fn task_states(&self, cluster: &ClusterArn, tasks: &[TaskArn]) -> Result<Vec<TaskState>, EcsError>;

    /// A revision of a task definition.
    async fn definition_state(&self, arn: &TaskDefinitionArn) -> Result<DefinitionState, EcsError>;
}

#[async_trait]
impl ClusterStates for AwsEcs {
    async fn service_states(&self, cluster: &ClusterArn) -> Result<Vec<ServiceState>, EcsError> {
        let subject = || format!("services of cluster {cluster}");
        let pages = self.client.list_services().cluster(cluster.as_str()).max_results(PAGE).into_paginator();
        let names: Vec<String> =
            pages.items().send().try_collect().await.map_err(|e| EcsError::failed(subject(), &e))?;
        let mut states = Vec::new();
        for chunk in names.chunks(DESCRIBE_LIMIT) {
            let call = self.client.describe_services().cluster(cluster.as_str()).set_services(Some(chunk.to_vec()));
            let answer = call.send().await.map_err(|e| EcsError::failed(subject(), &e))?;
            if let Some(failure) = answer.failures().iter().find(|failure| failure.reason() != Some("MISSING")) {
                let reason = failure.reason().unwrap_or("no reason given").to_owned();
                return Err(EcsError::Failed { subject: subject(), reason });
            }
            for service in answer.services() {
                let state = read_service(service);
                states.push(state.map_err(|source| EcsError::Malformed { subject: subject(), source })?);
            }
        }
        Ok(states)
    }

    async fn task_states(&self, cluster: &ClusterArn, tasks: &[TaskArn]) -> Result<Vec<TaskState>, EcsError> {
        self.describe(cluster, tasks, read_state).await
    }

    async fn definition_state(&self, arn: &TaskDefinitionArn) -> Result<DefinitionState, EcsError> {
        let answer = self.fetch_definition(arn).await?;
        let containers = answer.task_definition().map(EcsTaskDefinition::container_definitions);
        let images = containers.unwrap_or_default().iter();
        let images = images.filter_map(|container| Some((container.name()?.to_owned(), container.image()?.to_owned())));
        let proxy = answer.task_definition().and_then(EcsTaskDefinition::proxy_configuration);
        Ok(DefinitionState {
            images: images.collect(),
            is_in_app_mesh: proxy.and_then(ProxyConfiguration::r#type) == Some(&ProxyConfigurationType::Appmesh),
            definition: Arc::new(read_definition(arn, &answer)),
            registered_at: answer.task_definition().and_then(EcsTaskDefinition::registered_at).and_then(timestamp),
            logs: containers.unwrap_or_default().iter().filter_map(read_log).collect(),
        })
    }
}

fn read_service(service: &Service) -> Result<ServiceState, InvalidField> {
    let changes = service.deployments().iter().filter_map(|deployment| deployment.updated_at().and_then(timestamp));
    Ok(ServiceState {
        name: service.service_name().unwrap_or_default().to_owned(),
        definition: service.task_definition().map(str::parse).transpose()?,
        desired: usize::try_from(service.desired_count()).unwrap_or_default(),
        deployed_at: changes.max(),
        trouble: service.events().first().and_then(ServiceEvent::message).and_then(trouble),
        runs_on: places_of(service),
        events: service.events().iter().filter_map(read_event).collect(),
        deployments: service.deployments().iter().filter_map(read_deployment).collect(),
    })
}

/// The capacity providers of a service, or its launch type.
fn places_of(service: &Service) -> BTreeSet<String> {
    let providers = service.capacity_provider_strategy().iter().map(|item| item.capacity_provider().to_owned());
    let providers: BTreeSet<String> = providers.collect();
    if providers.is_empty() {
        service.launch_type().map(|kind| kind.as_str().to_owned()).into_iter().collect()
    } else {
        providers
    }
}

fn read_event(event: &ServiceEvent) -> Option<ServiceSaid> {
    let message = said(event.message()?).trim_end_matches('.').to_owned();
    Some(ServiceSaid { at: event.created_at().and_then(timestamp)?, message })
}

fn read_deployment(deployment: &Deployment) -> Option<ServiceDeployment> {
    let failure = deployment
        .rollout_state_reason()
        .filter(|_| deployment.rollout_state() == Some(&DeploymentRolloutState::Failed));
    Some(ServiceDeployment {
        id: deployment.id()?.to_owned(),
        definition: deployment.task_definition()?.parse().ok()?,
        created_at: deployment.created_at().and_then(timestamp),
        failure: failure.map(str::to_owned),
    })
}

fn read_log(container: &ContainerDefinition) -> Option<(String, ContainerLog)> {
    let configuration = container.log_configuration().filter(|it| *it.log_driver() == LogDriver::Awslogs)?;
    let option = |name: &str| configuration.options()?.get(name).cloned();
    let log = ContainerLog { group: option("awslogs-group")?, stream_prefix: option("awslogs-stream-prefix") };
    Some((container.name()?.to_owned(), log))
}

/// What an event says of a task that could not be started: `(service web) was unable to place a task because …`
fn trouble(message: &str) -> Option<String> {
    let said = said(message);
    said.starts_with("was unable to").then(|| said.trim_end_matches('.').to_owned())
}

/// What an event says, without the name of the service.
fn said(message: &str) -> &str {
    message.split_once(") ").filter(|(service, _)| service.starts_with("(service ")).map_or(message, |(_, said)| said)
}

fn read_state(task: &Task) -> Result<TaskState, InvalidField> {
    Ok(TaskState {
        task: read_task(task)?,
        last_status: task.last_status().unwrap_or_default().to_owned(),
        failure: failure(task),
        runs_on: task.capacity_provider_name().or(task.launch_type().map(LaunchType::as_str)).map(str::to_owned),
        history: history(task),
    })
}

fn history(task: &Task) -> TaskHistory {
    let container = |container: &Container| {
        let (exit_code, reason) = (container.exit_code().map(i64::from), container.reason().map(str::to_owned));
        Some(ContainerEnd { name: container.name()?.to_owned(), exit_code, reason })
    };
    TaskHistory {
        pull_started_at: task.pull_started_at().and_then(timestamp),
        stopping_at: task.stopping_at().and_then(timestamp),
        end: TaskEnd {
            code: task.stop_code().map(|code| code.as_str().to_owned()),
            reason: task.stopped_reason().map(str::to_owned),
            containers: task.containers().iter().filter_map(container).collect(),
            created_at: task.created_at().and_then(timestamp),
            started_at: task.started_at().and_then(timestamp),
            stopped_at: task.stopped_at().and_then(timestamp),
        },
    }
}

/// Why a task has stopped although nobody told it to: <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/stopped-task-error-codes.html>
fn failure(task: &Task) -> Option<String> {
    let code = task.stop_code()?;
    if ![TaskStopCode::EssentialContainerExited, TaskStopCode::TaskFailedToStart].contains(code) {
        return None;
    }
    let mut reason = task.stopped_reason().unwrap_or(code.as_str()).to_owned();
    let ends = task.containers().iter().filter_map(|container| {
        let (exit_code, why) = (container.exit_code().map(i64::from), container.reason().map(str::to_owned));
        let has_failed = exit_code.is_some_and(|code| code != 0) || why.is_some();
        has_failed.then_some(ContainerEnd { name: container.name()?.to_owned(), exit_code, reason: why })
    });
    for end in ends {
        reason = format!("{reason}; {end}");
    }
    Some(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_event_of_a_task_that_could_not_start_is_trouble() {
        let unable =
            "(service web) was unable to place a task because no container instance met all of its requirements.";
        let said = "was unable to place a task because no container instance met all of its requirements";
        assert_eq!(trouble(unable).as_deref(), Some(said));
        assert_eq!(trouble("(service web) has reached a steady state."), None);
    }

    #[test]
    fn only_a_task_that_was_not_told_to_stop_has_failed() {
        let task = |code| {
            let exited = Container::builder().name("app").exit_code(1).build();
            let init = Container::builder().name("consul-ecs-mesh-init").exit_code(0).build();
            let task = Task::builder().stop_code(code).stopped_reason("Essential container in task exited");
            failure(&task.containers(exited).containers(init).build())
        };
        assert_eq!(
            task(TaskStopCode::EssentialContainerExited).as_deref(),
            Some("Essential container in task exited; app exited with 1")
        );
        assert_eq!(task(TaskStopCode::ServiceSchedulerInitiated), None);
    }
}
