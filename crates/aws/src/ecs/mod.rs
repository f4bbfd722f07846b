//! Amazon ECS: its events and its API. [`AwsEcs`] implements one trait for each part of the API that others stand in for.

mod definition_cache;
mod definitions;
mod events;
mod hosts;
mod inventory;
mod pace;
mod services;
mod tasks;

use std::{
    collections::BTreeMap,
    error::Error,
    fmt::Debug,
    sync::{Arc, Mutex},
};

use aws_sdk_ecs::{
    Client,
    error::{ProvideErrorMetadata, SdkError},
    operation::describe_task_definition::DescribeTaskDefinitionOutput,
    types::{Failure, Tag},
};
use aws_smithy_types::DateTime;
use aws_types::SdkConfig;
use jiff::Timestamp;
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    names::InvalidField,
    tags::Tags,
};

use self::{definition_cache::DefinitionCache, pace::Pace};
pub use self::{
    definitions::TaskDefinitions,
    events::{
        API_CALL_DETAIL_TYPE, ApiCall, DETAIL_TYPE, SOURCE, cluster_of_api_call, cluster_of_task_change,
        parse_api_call, parse_api_call_event, parse_task_change,
    },
    hosts::{ContainerInstances, HOST_DETAIL_TYPE, parse_lost_host},
    inventory::{Inventory, RunningService},
    services::{
        Balanced, ClusterStatus, Clusters, EcsService, EcsServices, Rollout, ServiceDeployment, ServiceMessage,
        ServiceState,
    },
    tasks::{TaskList, Tasks},
};
use crate::sdk::describe;

/// The most tasks in one `DescribeTasks`, and clusters in one `DescribeClusters`.
pub const DESCRIBE_LIMIT: usize = 100;
/// The most services in one `DescribeServices`.
const DESCRIBE_SERVICES_LIMIT: usize = 10;

/// The calls that begin at once: three quarters of ECS's buckets. `ListTasks` and `DescribeTasks` have one together.
const TASK_BURST: u32 = 75;
const DEFINITION_BURST: u32 = 37;

/// ECS in one account and region.
pub struct AwsEcs {
    client: Client,
    reads_of_tasks: Pace,
    reads_of_definitions: Pace,
    definitions: Mutex<DefinitionCache>,
    /// The definitions as ECS described them, if they are kept.
    described: Option<Mutex<Descriptions>>,
}

/// What ECS says of task definitions, by the name that it was asked with.
type Descriptions = BTreeMap<String, Arc<DescribeTaskDefinitionOutput>>;

impl AwsEcs {
    /// ECS in the configuration's region.
    pub fn new(config: &SdkConfig) -> Self {
        Self {
            client: Client::new(config),
            reads_of_tasks: Pace::of_bursts(TASK_BURST),
            reads_of_definitions: Pace::of_bursts(DEFINITION_BURST),
            definitions: Mutex::new(DefinitionCache::new()),
            described: None,
        }
    }

    /// The same for one command, which reads each definition twice: for a diagnosis, and for the auditor. Only the first reading is a
    /// call.
    #[must_use]
    pub fn keeping_definitions(self) -> Self {
        Self { described: Some(Mutex::default()), ..self }
    }
}

/// An error of ECS. `subject` is the requested object.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EcsError {
    /// ECS does not know the revision, because it was deleted.
    #[error("task definition {0}: ECS does not know it")]
    UnknownTaskDefinition(TaskDefinitionArn),
    /// ECS does not know the cluster, or has deleted it.
    #[error(
        "cluster {0}: ECS does not know it. Correct ECS_CLUSTER_ARNS; if the cluster was deleted long ago, sweep it \
         with force"
    )]
    UnknownCluster(ClusterArn),
    /// The call failed, after retries.
    #[error("{subject}: ECS call failed: {reason}")]
    Failed { subject: String, reason: String },
    /// ECS refused the call.
    #[error(
        "{subject}: ECS refused the call: {reason}. Allow it in the caller's policies, its boundary and the organisation's policies"
    )]
    Refused { subject: String, reason: String },
    /// ECS lists a running task, but does not describe it: its answers are inconsistent.
    #[error("task {0}: ECS lists it as running but does not describe it")]
    NotDescribed(TaskArn),
    /// ECS describes no IP address of a running task. A task has a network interface only in the network mode `awsvpc`,
    /// which external instances do not have. In `bridge` and `host`, it has the address of its container instance.
    #[error(
        "task {task} (launch type {launch_type}): ECS reports no IP address because the task has no network interface \
         (network mode bridge, host or none)"
    )]
    NoAddress { task: String, launch_type: String },
    /// The answer has an undocumented value.
    #[error("{subject}: ECS's answer could not be read: {source}")]
    Malformed { subject: String, source: InvalidField },
}

impl EcsError {
    fn failed(subject: impl Into<String>, error: &(impl Error + ProvideErrorMetadata + 'static)) -> Self {
        let (subject, reason) = (subject.into(), describe(error));
        match error.code() {
            Some("AccessDeniedException") => Self::Refused { subject, reason },
            _ => Self::Failed { subject, reason },
        }
    }

    /// A failed call on a cluster: ECS may not know it.
    fn on_cluster<E, R>(cluster: &ClusterArn, subject: &str, error: &SdkError<E, R>) -> Self
    where
        E: Error + ProvideErrorMetadata + 'static,
        R: Debug + 'static,
    {
        match error.code() {
            Some("ClusterNotFoundException") => Self::UnknownCluster(cluster.clone()),
            _ => Self::failed(subject, error),
        }
    }

    fn malformed(subject: &str) -> impl Fn(InvalidField) -> Self {
        move |source| Self::Malformed { subject: subject.to_owned(), source }
    }
}

/// Accepts the failure `MISSING`, of an object that ECS does not know.
///
/// # Errors
/// The reason of another failure, which makes the answer incomplete.
fn only_missing(failures: &[Failure]) -> Result<(), String> {
    match failures.iter().find(|failure| failure.reason() != Some("MISSING")) {
        Some(failure) => Err(failure.reason().unwrap_or("no reason given").to_owned()),
        None => Ok(()),
    }
}

fn tags(tags: &[Tag]) -> Tags {
    tags.iter().filter_map(|tag| Some((tag.key()?, tag.value().unwrap_or_default()))).collect()
}

fn timestamp(at: &DateTime) -> Option<Timestamp> {
    Timestamp::from_second(at.secs()).ok()
}
