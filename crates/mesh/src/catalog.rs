//! What Consul's catalog holds of tasks: in the dataplane generation on their cluster's synthetic node, in the client
//! generation on the node of the task's own Consul client agent.

use serde_json::{Value, json};

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
    pub fn is_superset_of(&self, later: &Self) -> bool {
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

/// What the ID of the check begins with by which a Consul agent puts a service into maintenance mode.
const MAINTENANCE: &str = "_service_maintenance:";
/// What that check says of a task that was told to stop.
const TOLD_TO_STOP: &str = "ECS told the task to stop";

impl HealthCheck {
    /// The check that drains an instance whose task was told to stop: critical, and nobody else's to write. It is the one
    /// by which agents put a service into maintenance mode: <https://developer.hashicorp.com/consul/commands/maint>
    #[must_use]
    pub fn maintenance(instance: &ServiceInstance) -> Self {
        Self {
            node: instance.node.clone(),
            id: format!("{MAINTENANCE}{}", instance.id),
            name: "Service Maintenance Mode".to_owned(),
            kind: "maintenance".to_owned(),
            notes: TOLD_TO_STOP.to_owned(),
            service_id: instance.id.clone(),
            service_name: instance.name.clone(),
            status: CheckStatus::Critical,
            output: TOLD_TO_STOP.to_owned(),
            definition: json!({}),
            tenancy: instance.tenancy.clone(),
        }
    }

    /// Whether `other` is this check of the same instance, whatever it says.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        (&self.node, &self.id, &self.service_id, &self.tenancy)
            == (&other.node, &other.id, &other.service_id, &other.tenancy)
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
