//! What Consul's catalog holds of tasks: in the dataplane generation on their cluster's synthetic node, in the client
//! generation on the node of the task's own Consul client agent.

use serde_json::Value;

use super::{
    arn::{ClusterArn, TaskArn, TaskId},
    tenancy::Tenancy,
};

/// A service instance, sidecar proxy or gateway that carries a task's ID in its meta.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceInstance {
    /// The catalog node: the cluster's ARN, or the name of a client agent.
    pub node: String,
    /// The instance's ID, for example `web-<task id>-sidecar-proxy`.
    pub id: String,
    /// The service's name: Consul 1.8 refuses a deregistration without it.
    pub name: String,
    /// `Meta["task-id"]`: the mark that says whose it is.
    pub task: TaskId,
    /// `Meta["task-arn"]`: the task, and (in its present shape) the task's cluster.
    pub task_arn: Option<TaskArn>,
    /// Consul's index of the last change: a deletion holds only for what was seen.
    pub modify_index: u64,
    /// Where it is registered.
    pub tenancy: Tenancy,
}

/// All that is registered on one catalog node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogNode {
    /// Whether `NodeMeta` says that it is a synthetic node.
    pub is_synthetic: bool,
    /// The services with a task's mark.
    pub instances: Vec<ServiceInstance>,
    /// The IDs of the services without one: somebody else's.
    pub others: Vec<String>,
}

impl CatalogNode {
    /// Whether nothing has come to the node by `later`. What has gone, or was registered anew by the same task, is no
    /// addition.
    #[must_use]
    pub fn holds_all_of(&self, later: &Self) -> bool {
        let is_same = |seen: &ServiceInstance, now: &ServiceInstance| {
            (&seen.id, &seen.task, &seen.task_arn, &seen.tenancy) == (&now.id, &now.task, &now.task_arn, &now.tenancy)
        };
        self.is_synthetic == later.is_synthetic
            && later.others.iter().all(|other| self.others.contains(other))
            && later.instances.iter().all(|now| self.instances.iter().any(|seen| is_same(seen, now)))
    }
}

/// How Consul's gossip sees an agent: <https://developer.hashicorp.com/consul/api-docs/agent#list-members>.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentStatus {
    /// It answers, or was heard of a moment ago.
    Alive,
    /// It vanished without leaving.
    Failed,
    /// It has left, or is about to.
    Left,
}

/// A Consul agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its node's name.
    pub name: String,
    /// Whether it lives.
    pub status: AgentStatus,
}

/// A Consul client agent, and what its node holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientAgent {
    /// The agent.
    pub member: Member,
    /// The services on its node.
    pub node: CatalogNode,
    /// The partition whose gossip it is in.
    pub tenancy: Tenancy,
}

/// The synthetic node of a cluster that ECS has deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftoverNode {
    /// The cluster.
    pub cluster: ClusterArn,
    /// What the node holds.
    pub node: CatalogNode,
    /// Where it is registered.
    pub tenancy: Tenancy,
}

/// The status of a health check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckStatus {
    /// Traffic may flow.
    Passing,
    /// Traffic may flow, with doubts.
    Warning,
    /// No traffic.
    Critical,
}

/// A health check of a service instance. All fields are kept, because Consul replaces a check as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthCheck {
    /// The catalog node: the cluster's ARN.
    pub node: String,
    /// The check's ID.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its type, for example `consul-ecs-health-check`.
    pub kind: String,
    /// Notes for people.
    pub notes: String,
    /// The instance that it belongs to.
    pub service_id: String,
    /// That instance's service.
    pub service_name: String,
    /// Its status.
    pub status: CheckStatus,
    /// What it says to people about its status.
    pub output: String,
    /// Its definition, as Consul gave it.
    pub definition: Value,
    /// Where it is registered.
    pub tenancy: Tenancy,
}

/// What a check says that was turned critical because its task was told to stop.
pub const DRAINING: &str = "ECS told the task to stop";

impl HealthCheck {
    /// Whether it was turned critical because its task was told to stop. Such a task never comes back.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.status == CheckStatus::Critical && self.output == DRAINING
    }
}

impl CheckStatus {
    /// Consul's word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passing => "passing",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// A check as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckUpdate {
    /// The check as it was seen.
    pub check: HealthCheck,
    /// Its new status.
    pub status: CheckStatus,
    /// What it says to people.
    pub output: String,
}
