//! The tasks that logged in for tokens.

use crate::arn::{ClusterArn, TaskId};

/// The task that logged in for a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginMark {
    /// The cluster as the task named it.
    pub cluster: String,
    /// The task.
    pub task: TaskId,
}

impl LoginMark {
    /// Whether `task` of `cluster`, which the mark names by ARN or by name, logged in.
    #[must_use]
    pub fn is_of(&self, task: &TaskId, cluster: &ClusterArn) -> bool {
        self.task == *task && cluster.is_named_by(&self.cluster)
    }
}
