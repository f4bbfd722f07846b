//! Errors of ECS.

use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    field::InvalidField,
};

use crate::sdk::describe;

/// An error of ECS.
#[derive(Debug, thiserror::Error)]
pub enum EcsError {
    /// ECS does not know the revision, because it was deleted.
    #[error("task definition {0}: ECS does not know it")]
    UnknownTaskDefinition(TaskDefinitionArn),
    /// ECS does not know the cluster, or has deleted it.
    #[error(
        "cluster {0}: ECS does not know it; correct ECS_CLUSTER_ARNS, or, if it was deleted long ago, sweep it with force"
    )]
    UnknownCluster(ClusterArn),
    /// The call failed, after retries.
    #[error("{subject}: ECS call failed: {reason}")]
    Failed {
        /// The requested object.
        subject: String,
        /// The cause.
        reason: String,
    },
    /// ECS lists a running task, but does not describe it: its answers are inconsistent.
    #[error("task {0}: ECS lists it as running, but does not describe it")]
    NotDescribed(TaskArn),
    /// ECS describes no IP address of a running task: only in the network mode `awsvpc`, which external instances do not
    /// have, does a task have a network interface. In `bridge` and `host`, its address is that of its container instance.
    #[error(
        "task {task} (launch type {launch_type}): ECS describes no IP address of it, because it has no network interface \
         (network mode bridge, host or none)"
    )]
    NoAddress {
        /// The task's ARN, as ECS describes it.
        task: String,
        /// Its launch type, as ECS describes it.
        launch_type: String,
    },
    /// The answer has an undocumented value.
    #[error("{subject}: ECS's answer could not be read: {source}")]
    Malformed {
        /// The requested object.
        subject: String,
        /// The field.
        source: InvalidField,
    },
}

impl EcsError {
    /// A failed call.
    pub(super) fn failed<E: std::error::Error + 'static>(subject: String, error: &E) -> Self {
        Self::Failed { subject, reason: describe(error) }
    }
}
