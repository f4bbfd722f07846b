//! What can go wrong with ECS.

use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    field::InvalidField,
};

use crate::sdk::describe;

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

impl EcsError {
    /// A call that failed, by what was asked for.
    pub(super) fn failed<E: std::error::Error + 'static>(subject: String, error: &E) -> Self {
        Self::Failed { subject, reason: describe(error) }
    }
}
