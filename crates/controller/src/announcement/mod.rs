//! What the controller tells other programs, as events: `docs/events.md`.

#[cfg(test)]
mod tests;

use mesh::{
    arn::ClusterArn,
    token::{AccessorId, TokenHolder},
};
use serde_json::{Map, Value, json};

use crate::healing::Healing;

/// Something that was done, or that nobody but a person can decide.
pub(crate) enum Announcement {
    /// A task that was healed or drained, or that is broken, while it was meant to run.
    Healed(Healing),
    /// The instances of a task that ECS told to stop were drained.
    StoppingTaskDrained(TaskEntries),
    /// The instances of a stopped task were deregistered.
    TaskDeregistered(TaskEntries),
    /// A login token of a stopped task was deleted.
    LoginTokenRevoked { task_id: String, accessor: AccessorId },
    /// A token of a service or of the client agents was created.
    TokenCreated { holder: TokenHolder, accessor: AccessorId, cluster: ClusterArn },
    /// A token of a service or of the client agents was deleted.
    TokenRevoked { holder: TokenHolder, accessor: AccessorId, reason: String },
    /// A sweep has held deletions or corrections of a cluster back.
    GuardTripped { cluster: String, reason: String },
}

/// Instances of one task in Consul's catalog.
pub(crate) struct TaskEntries {
    /// The catalog node: the cluster's ARN, or the name of a client agent.
    pub(crate) node: String,
    pub(crate) task_id: String,
    /// The service's name.
    pub(crate) service: String,
    /// The IDs of the instances, a sidecar proxy's included.
    pub(crate) service_ids: Vec<String>,
    /// Why they were drained or deregistered.
    pub(crate) reason: &'static str,
}

impl Announcement {
    /// The `detail-type` of the event.
    pub(crate) fn detail_type(&self) -> &'static str {
        match self {
            Self::Healed(healing) => healing.kind.detail_type(),
            Self::StoppingTaskDrained(_) => "ECS Mesh Task Drained",
            Self::TaskDeregistered(_) => "ECS Mesh Task Deregistered",
            Self::TokenCreated { .. } => "ECS Mesh Token Created",
            Self::LoginTokenRevoked { .. } | Self::TokenRevoked { .. } => "ECS Mesh Token Revoked",
            Self::GuardTripped { .. } => "ECS Mesh Guard Tripped",
        }
    }

    /// Whether it belongs to the end of every task.
    pub(crate) fn is_routine(&self) -> bool {
        matches!(self, Self::StoppingTaskDrained(_) | Self::TaskDeregistered(_) | Self::LoginTokenRevoked { .. })
    }

    /// The `detail` of the event, without the mode.
    pub(crate) fn detail(&self) -> Map<String, Value> {
        let detail = match self {
            Self::Healed(healing) => healing.detail(),
            Self::StoppingTaskDrained(entries) | Self::TaskDeregistered(entries) => entries.detail(),
            Self::LoginTokenRevoked { task_id, accessor } => json!({
                "taskId": task_id,
                "accessorId": accessor.to_string(),
                "reason": "the task has stopped",
            }),
            Self::TokenCreated { holder, accessor, cluster } => json!({
                "clusterArn": cluster.as_str(),
                "holder": holder.to_string(),
                "service": service_of(holder),
                "accessorId": accessor.to_string(),
            }),
            Self::TokenRevoked { holder, accessor, reason } => json!({
                "holder": holder.to_string(),
                "service": service_of(holder),
                "accessorId": accessor.to_string(),
                "reason": reason,
            }),
            Self::GuardTripped { cluster, reason } => json!({ "clusterArn": cluster, "reason": reason }),
        };
        match detail {
            Value::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect(),
            _ => Map::new(),
        }
    }
}

impl TaskEntries {
    fn detail(&self) -> Value {
        json!({
            "node": self.node,
            "taskId": self.task_id,
            "service": self.service,
            "serviceIds": self.service_ids,
            "reason": self.reason,
        })
    }
}

fn service_of(holder: &TokenHolder) -> Option<&str> {
    holder.service().map(|service| service.name.as_str())
}
