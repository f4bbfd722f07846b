//! What Consul's catalog holds of a dataplane-generation task, on its cluster's synthetic node.

use serde_json::Value;

use super::{arn::TaskId, tenancy::Tenancy};

/// A service instance, sidecar proxy or gateway that carries a task's ID in its meta.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceInstance {
    /// The catalog node: the cluster's ARN.
    pub node: String,
    /// The instance's ID, for example `web-<task id>-sidecar-proxy`.
    pub id: String,
    /// The service's name: Consul 1.8 refuses a deregistration without it.
    pub name: String,
    /// `Meta["task-id"]`: the mark that says whose it is.
    pub task: TaskId,
    /// Consul's index of the last change: a deletion holds only for what was seen.
    pub modify_index: u64,
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
    /// Its definition, as Consul gave it.
    pub definition: Value,
    /// Where it is registered.
    pub tenancy: Tenancy,
}
