//! What a sweep would write, waits for, or may not do.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A write that a sweep would make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum PlannedAction {
    /// Create or update the token of a service or of the client agents.
    Provision {
        holder: String,
    },
    /// Create the node of a cluster.
    CreateNode {
        node: String,
    },
    /// Write a token that Consul has into the secret that does not show it.
    ShowOrphan {
        holder: String,
        accessor_id: String,
    },
    /// Drain an instance.
    MarkCritical {
        service_id: String,
        reason: String,
    },
    /// End the drain of an instance whose host runs again.
    EndDrain {
        service_id: String,
    },
    DeleteLoginToken {
        accessor_id: String,
        task_id: Option<String>,
    },
    Deregister {
        service_id: String,
        task_id: String,
    },
    /// Remove a failed client agent.
    ForceLeave {
        node: String,
    },
    DeregisterNode {
        node: String,
    },
    /// Hide the token of an idle service from tasks.
    HideToken {
        holder: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        accessor_id: Option<String>,
    },
    /// Delete a hidden token.
    Revoke {
        holder: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        accessor_id: Option<String>,
    },
    /// Delete a token that no secret shows.
    DeleteOrphan {
        holder: String,
        accessor_id: String,
    },
    /// Register what Consul has lost of a running task: the IDs of instances and checks.
    Repair {
        task_id: String,
        instances: Vec<String>,
        checks: Vec<String>,
    },
    CorrectHealth {
        task_id: String,
        checks: Vec<CheckStatus>,
    },
    /// An action of a newer function.
    #[serde(untagged)]
    Other {
        action: String,
        #[serde(flatten)]
        fields: Map<String, Value>,
    },
}

/// The status that a check would get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckStatus {
    pub check_id: String,
    /// `passing`, `warning` or `critical`.
    pub status: String,
}

impl PlannedAction {
    /// Whether something is gone afterwards.
    pub fn deletes(&self) -> bool {
        matches!(
            self,
            Self::DeleteLoginToken { .. }
                | Self::Deregister { .. }
                | Self::ForceLeave { .. }
                | Self::DeregisterNode { .. }
                | Self::HideToken { .. }
                | Self::Revoke { .. }
                | Self::DeleteOrphan { .. }
        )
    }
}

/// An action of a later sweep or of its second look: it has a time, or waits for something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    #[serde(flatten)]
    pub action: PlannedAction,
    /// In RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
}

/// An action that Consul refuses, that the guard holds back, or that lacks a proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    #[serde(flatten)]
    pub action: PlannedAction,
    pub reason: String,
}
