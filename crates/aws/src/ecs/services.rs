//! Clusters and their ECS services.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use aws_sdk_ecs::types::{
    AdvancedConfiguration, Deployment, DeploymentConfiguration, DeploymentRolloutState, DeploymentStrategy,
    LoadBalancer, ResourceManagementType, Service, ServiceEvent, ServiceField,
};
use jiff::Timestamp;
use mesh::{
    arn::{ClusterArn, TaskDefinitionArn},
    names::InvalidField,
    tags::Tags,
};

use super::{
    AwsEcs, DESCRIBE_LIMIT, DESCRIBE_SERVICES_LIMIT, EcsError,
    inventory::{RunningService, running_service},
    only_missing, tags, timestamp,
};

/// Whether a cluster exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterStatus {
    /// The cluster exists, with this number of running and pending tasks.
    Active { tasks: usize },
    /// The cluster was deleted.
    Deleted,
    /// ECS does not know the cluster: it never existed, or was deleted long ago.
    Unknown,
}

/// Reads clusters.
#[async_trait]
pub trait Clusters: Send + Sync {
    /// The clusters of the account and region.
    async fn list_clusters(&self) -> Result<Vec<ClusterArn>, EcsError>;

    async fn cluster_statuses(&self, clusters: &[ClusterArn]) -> Result<BTreeMap<ClusterArn, ClusterStatus>, EcsError>;
}

/// What the controller reads of an ECS service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EcsService {
    pub name: String,
    pub tags: Tags,
}

/// Reads ECS services.
#[async_trait]
pub trait EcsServices: Send + Sync {
    /// Describes services of one cluster. Those that ECS does not know are not in the result.
    async fn services(&self, cluster: &ClusterArn, names: &[String]) -> Result<Vec<EcsService>, EcsError>;
}

/// An ECS service, as `ecs-mesh` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceState {
    pub name: String,
    /// The revision of its tasks; `None` with an external deployment controller, and for another kind of definition.
    pub definition: Option<TaskDefinitionArn>,
    /// How many tasks it wants.
    pub desired: usize,
    /// When its deployment last changed.
    pub deployed_at: Option<Timestamp>,
    /// Why it could not start a task, if the newest of its events says so.
    pub trouble: Option<String>,
    /// The launch type, or the capacity providers, of its tasks.
    pub runs_on: BTreeSet<String>,
    /// Its events, newest first. ECS keeps 100 of them.
    pub events: Vec<ServiceMessage>,
    /// Its deployments, newest first.
    pub deployments: Vec<ServiceDeployment>,
    /// How a deployment replaces a revision; `None` for a rolling one, which needs no word.
    pub rollout: Option<Rollout>,
    /// Whether Express Mode manages it. It may also have generated the task definition.
    pub is_express: bool,
    /// What the auditor reads of it.
    pub audited: RunningService,
    /// The target groups that its tasks are registered in.
    pub balanced: Vec<Balanced>,
}

/// A port of a service's tasks that load balancers send requests to:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_LoadBalancer.html>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balanced {
    pub container: String,
    pub port: u16,
    /// The ARN of its target group; of both, if deployments shift requests from one to the other.
    pub groups: Vec<String>,
}

/// A deployment that keeps two revisions beside each other on purpose:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DeploymentConfiguration.html>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollout {
    /// `blue/green`, `canary`, `linear`, or what ECS calls it.
    pub strategy: String,
    /// How long both revisions run after the load balancer has shifted all requests.
    pub bake_minutes: Option<usize>,
}

/// An event of an ECS service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceMessage {
    pub at: Timestamp,
    /// Its text, without the name of the service.
    pub message: String,
}

/// A deployment of an ECS service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceDeployment {
    /// Its ID, `ecs-svc/…`, which is in the reason of the tasks that it stops.
    pub id: String,
    /// The revision that it deploys.
    pub definition: TaskDefinitionArn,
    pub created_at: Option<Timestamp>,
    /// Why it failed or was rolled back, if ECS says so.
    pub failure: Option<String>,
}

impl AwsEcs {
    /// Connects to ECS, so that the first call does not have to. A failure shows in that call.
    pub async fn open_connection(&self) {
        let _ = self.client.list_clusters().max_results(1).send().await;
    }
}

#[async_trait]
impl Clusters for AwsEcs {
    async fn list_clusters(&self) -> Result<Vec<ClusterArn>, EcsError> {
        let subject = "the account's clusters";
        let pages = self.client.list_clusters().into_paginator().items().send();
        let arns: Vec<String> = pages.try_collect().await.map_err(|e| EcsError::failed(subject, &e))?;
        arns.iter().map(|arn| arn.parse().map_err(EcsError::malformed(subject))).collect()
    }

    async fn cluster_statuses(&self, clusters: &[ClusterArn]) -> Result<BTreeMap<ClusterArn, ClusterStatus>, EcsError> {
        let subject = || format!("{} clusters", clusters.len());
        let mut statuses = BTreeMap::new();
        for chunk in clusters.chunks(DESCRIBE_LIMIT) {
            let names = chunk.iter().map(|cluster| cluster.as_str().to_owned()).collect();
            let call = self.client.describe_clusters().set_clusters(Some(names));
            let answer = call.send().await.map_err(|e| EcsError::failed(subject(), &e))?;
            only_missing(answer.failures()).map_err(|reason| EcsError::Failed { subject: subject(), reason })?;
            for cluster in chunk {
                let described = answer.clusters().iter().find(|known| known.cluster_arn() == Some(cluster.as_str()));
                let status = match described.and_then(|described| Some((described, described.status()?))) {
                    Some((_, "INACTIVE")) => ClusterStatus::Deleted,
                    // PROVISIONING, DEPROVISIONING and FAILED are statuses of capacity providers.
                    Some((described, _)) => {
                        let tasks = described.running_tasks_count() + described.pending_tasks_count();
                        ClusterStatus::Active { tasks: tasks.try_into().unwrap_or_default() }
                    }
                    None => ClusterStatus::Unknown,
                };
                statuses.insert(cluster.clone(), status);
            }
        }
        Ok(statuses)
    }
}

#[async_trait]
impl EcsServices for AwsEcs {
    async fn services(&self, cluster: &ClusterArn, names: &[String]) -> Result<Vec<EcsService>, EcsError> {
        let subject = format!("{} services of cluster {cluster}", names.len());
        let services = self.describe_services(cluster, names, Some(vec![ServiceField::Tags]), &subject).await?;
        let services = services.iter().map(|service| EcsService {
            name: service.service_name().unwrap_or_default().to_owned(),
            tags: tags(service.tags()),
        });
        Ok(services.collect())
    }
}

impl AwsEcs {
    pub async fn service_states(&self, cluster: &ClusterArn) -> Result<Vec<ServiceState>, EcsError> {
        let subject = format!("services of cluster {cluster}");
        let pages = self.client.list_services().cluster(cluster.as_str()).max_results(100).into_paginator();
        let names: Vec<String> =
            pages.items().send().try_collect().await.map_err(|e| EcsError::failed(&subject, &e))?;
        let services = self.describe_services(cluster, &names, None, &subject).await?;
        services.iter().map(|service| read_service(service).map_err(EcsError::malformed(&subject))).collect()
    }

    async fn describe_services(
        &self,
        cluster: &ClusterArn,
        names: &[String],
        include: Option<Vec<ServiceField>>,
        subject: &str,
    ) -> Result<Vec<Service>, EcsError> {
        let mut services = Vec::new();
        for chunk in names.chunks(DESCRIBE_SERVICES_LIMIT) {
            let call = self.client.describe_services().cluster(cluster.as_str()).set_services(Some(chunk.to_vec()));
            let answer = call.set_include(include.clone()).send().await;
            let answer = answer.map_err(|e| EcsError::failed(subject, &e))?;
            only_missing(answer.failures())
                .map_err(|reason| EcsError::Failed { subject: subject.to_owned(), reason })?;
            services.extend(answer.services.unwrap_or_default());
        }
        Ok(services)
    }
}

fn read_service(service: &Service) -> Result<ServiceState, InvalidField> {
    let changes = service.deployments().iter().filter_map(|deployment| deployment.updated_at().and_then(timestamp));
    Ok(ServiceState {
        name: service.service_name().unwrap_or_default().to_owned(),
        definition: service.task_definition().map(TaskDefinitionArn::of_task).transpose()?.flatten(),
        desired: usize::try_from(service.desired_count()).unwrap_or_default(),
        deployed_at: changes.max(),
        trouble: service.events().first().and_then(ServiceEvent::message).and_then(trouble),
        runs_on: places_of(service),
        events: service.events().iter().filter_map(read_event).collect(),
        deployments: service.deployments().iter().filter_map(read_deployment).collect(),
        rollout: service.deployment_configuration().and_then(read_rollout),
        is_express: service.resource_management_type() == Some(&ResourceManagementType::Ecs),
        audited: running_service(service),
        balanced: service.load_balancers().iter().filter_map(read_balanced).collect(),
    })
}

/// `None` for a Classic Load Balancer, which has no target group.
fn read_balanced(entry: &LoadBalancer) -> Option<Balanced> {
    let other = entry.advanced_configuration().and_then(AdvancedConfiguration::alternate_target_group_arn);
    Some(Balanced {
        container: entry.container_name().unwrap_or_default().to_owned(),
        port: entry.container_port().and_then(|port| port.try_into().ok()).unwrap_or_default(),
        groups: [Some(entry.target_group_arn()?), other].into_iter().flatten().map(str::to_owned).collect(),
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

fn read_event(event: &ServiceEvent) -> Option<ServiceMessage> {
    let message = without_name(event.message()?).trim_end_matches('.').to_owned();
    Some(ServiceMessage { at: event.created_at().and_then(timestamp)?, message })
}

fn read_deployment(deployment: &Deployment) -> Option<ServiceDeployment> {
    let has_failed = deployment.rollout_state() == Some(&DeploymentRolloutState::Failed);
    Some(ServiceDeployment {
        id: deployment.id()?.to_owned(),
        definition: deployment.task_definition()?.parse().ok()?,
        created_at: deployment.created_at().and_then(timestamp),
        failure: deployment.rollout_state_reason().filter(|_| has_failed).map(str::to_owned),
    })
}

fn read_rollout(configuration: &DeploymentConfiguration) -> Option<Rollout> {
    let strategy = match configuration.strategy()? {
        DeploymentStrategy::Rolling => return None,
        DeploymentStrategy::BlueGreen => "blue/green".to_owned(),
        other => other.as_str().to_lowercase(),
    };
    let minutes = configuration.bake_time_in_minutes().and_then(|minutes| usize::try_from(minutes).ok());
    Some(Rollout { strategy, bake_minutes: minutes.filter(|minutes| *minutes > 0) })
}

/// The text of an event about a task that could not be started: `(service web) was unable to place a task because …`
fn trouble(message: &str) -> Option<String> {
    let text = without_name(message);
    text.starts_with("was unable to").then(|| text.trim_end_matches('.').to_owned())
}

/// The text of an event without the name of the service.
fn without_name(message: &str) -> &str {
    message.split_once(") ").filter(|(service, _)| service.starts_with("(service ")).map_or(message, |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_event_of_a_task_that_could_not_start_is_trouble() {
        let unable =
            "(service web) was unable to place a task because no container instance met all of its requirements.";
        let text = "was unable to place a task because no container instance met all of its requirements";
        assert_eq!(trouble(unable).as_deref(), Some(text));
        assert_eq!(trouble("(service web) has reached a steady state."), None);
    }
}
