//! The logins of tasks: the names that consul-ecs gives what decides them, and the tasks that logged in for tokens.

use crate::arn::{ClusterArn, TaskId};

/// The auth method of services and gateways, which a task uses whose configuration names none.
pub const SERVICE_METHOD: &str = "iam-ecs-service-token";
// Tags of IAM roles. They contain dots, because a binding rule cannot refer to a tag with a slash.
/// The tag of an IAM role with the kind of gateway.
pub const GATEWAY_KIND_ENTITY_TAG: &str = "consul.hashicorp.com.gateway-kind";
/// The tag of an IAM role with the namespace (Enterprise).
pub const NAMESPACE_ENTITY_TAG: &str = "consul.hashicorp.com.namespace";
/// The tag of an IAM role with the name of the service.
pub const SERVICE_NAME_ENTITY_TAG: &str = "consul.hashicorp.com.service-name";

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
    pub fn is_of(&self, task: &TaskId, cluster: &ClusterArn) -> bool {
        self.task == *task && cluster.is_named_by(&self.cluster)
    }
}
