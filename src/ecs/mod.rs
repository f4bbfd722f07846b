//! Amazon ECS: its events, and what it says when asked.

mod addresses;
mod api_call;
mod client;
mod coverage;
mod definition_json;
mod event;
mod inventory;

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use async_trait::async_trait;

pub use self::{
    api_call::{API_CALL_DETAIL_TYPE, ApiCall, parse_api_call},
    client::AwsEcs,
    event::{DETAIL_TYPE, SOURCE, parse_task_change},
    inventory::{Inventory, RunningService},
};
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    field::InvalidField,
    identity::TaskDefinition,
    task::DescribedTask,
};

/// An error of ECS.
#[derive(Debug, thiserror::Error)]
pub enum EcsError {
    /// ECS knows no such revision: it was deleted.
    #[error("task definition {0}: ECS does not know it")]
    UnknownTaskDefinition(TaskDefinitionArn),
    /// ECS has no such cluster, or had one and deleted it.
    #[error("cluster {0}: ECS does not know it; correct ECS_CLUSTER_ARNS")]
    UnknownCluster(ClusterArn),
    /// The call failed, after retries.
    #[error("{subject}: ECS call failed: {reason}")]
    Failed {
        /// What was asked for.
        subject: String,
        /// What happened.
        reason: String,
    },
    /// ECS lists a running task, but does not describe it: its answers contradict each other.
    #[error("task {0}: ECS lists it as running, but does not describe it")]
    NotDescribed(TaskArn),
    /// The answer holds something undocumented.
    #[error("{subject}: ECS's answer could not be read: {source}")]
    Malformed {
        /// What was asked for.
        subject: String,
        /// Which field.
        source: InvalidField,
    },
}

/// Whether a cluster exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterStatus {
    /// It does.
    Active,
    /// It was deleted.
    Deleted,
    /// ECS does not know it: it never was, or was deleted long ago.
    Unknown,
}

/// The tasks of a cluster, as ECS lists them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskList {
    /// Those that are meant to run.
    pub running: Vec<TaskArn>,
    /// Those that are meant to stop, or have stopped: ECS may forget one at any time. One that was told to stop while it
    /// was listed may be in both.
    pub stopped: Vec<TaskArn>,
}

/// What the controller needs of ECS.
#[async_trait]
pub trait Ecs: Send + Sync {
    /// A revision and its tags, remembered for the life of the environment: a revision never changes.
    async fn task_definition(&self, arn: &TaskDefinitionArn) -> Result<Arc<TaskDefinition>, EcsError>;

    /// Forgets a revision: its tags made no sense, and tags may be mended.
    fn forget(&self, arn: &TaskDefinitionArn);

    /// Whether `clusters` exist.
    async fn cluster_statuses(&self, clusters: &[ClusterArn]) -> Result<BTreeMap<ClusterArn, ClusterStatus>, EcsError>;

    /// The tasks of a cluster that are meant to run.
    async fn list_running(&self, cluster: &ClusterArn) -> Result<Vec<TaskArn>, EcsError>;

    /// Every task of a cluster that ECS still knows, stopped ones (for about an hour) included.
    ///
    /// # Errors
    /// A page is missing: then nothing is known, rather than less. [`EcsError::UnknownCluster`] where there is no such
    /// cluster.
    async fn list_tasks(&self, cluster: &ClusterArn) -> Result<TaskList, EcsError>;

    /// Tasks of one cluster with their tags. Those that are not in the answer ECS has said that it does not know.
    ///
    /// # Errors
    /// An answer that says nothing of a task, or anything else than that it is missing. [`EcsError::UnknownCluster`]
    /// where there is no such cluster.
    async fn describe_tasks(&self, cluster: &ClusterArn, tasks: &[TaskArn]) -> Result<Vec<DescribedTask>, EcsError>;

    /// The private addresses of the running tasks of a family or, where it has none, of a service.
    ///
    /// # Errors
    /// ECS knows no such cluster, or the call failed. A name that it does not know has no tasks.
    async fn addresses(&self, cluster: &str, family_or_service: &str) -> Result<Vec<IpAddr>, EcsError>;
}
