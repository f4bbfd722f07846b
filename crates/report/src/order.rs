//! What other processes send: the payloads of `reconcile`, and the events in a queue.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An invocation of `reconcile` by an operator, the command line or the schedule.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the payload")]
pub struct ReconcileOrder {
    /// The ARNs of the clusters to sweep; empty: all.
    pub clusters: Vec<String>,
    pub dry_run: bool,
    pub force: bool,
    /// Sent by the schedule of an earlier version until the update of its stack has deleted that.
    #[serde(skip_serializing)]
    pub health_sync: bool,
    /// Delete unused secrets instead of sweeping.
    #[serde(skip_serializing_if = "is_false")]
    pub delete_unused_secrets: bool,
    /// Check the installation instead of sweeping.
    #[serde(skip_serializing_if = "is_false")]
    pub check: bool,
    /// Set by the template's schedule.
    #[serde(skip_serializing_if = "is_false")]
    pub scheduled: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// An event of EventBridge, or a message of the controller in the form of one.
#[derive(Debug, Deserialize)]
pub struct Envelope {
    pub source: Option<String>,
    #[serde(rename = "detail-type")]
    pub detail_type: Option<String>,
    pub time: Option<String>,
    #[serde(default)]
    pub detail: Value,
}
