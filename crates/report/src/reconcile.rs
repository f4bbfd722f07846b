//! What invokes `reconcile` and `audit`, and the answer to a check of the installation. The answer to a sweep is [`crate::SweepReport`].

use mesh::settings::Mode;
use serde::{Deserialize, Serialize};

use crate::Problem;

/// An invocation of `reconcile` by an operator, the command line or the schedule.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the payload")]
pub struct ReconcileOrder {
    /// The ARNs of the clusters to sweep; empty: all.
    pub clusters: Vec<String>,
    pub dry_run: bool,
    pub force: bool,
    /// Check the installation instead of sweeping.
    #[serde(skip_serializing_if = "is_false")]
    pub check: bool,
    /// Set by the template's schedule.
    #[serde(skip_serializing_if = "is_false")]
    pub scheduled: bool,
}

/// An invocation of `audit` by an operator or the schedule: one of the first five fields.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuditOrder {
    /// The name or ARN of a cluster.
    pub cluster: Option<String>,
    pub family: Option<String>,
    /// `family:revision`, or an ARN.
    pub task_definition: Option<String>,
    #[serde(default)]
    pub all: bool,
    /// Set by the template's schedule.
    #[serde(default)]
    pub scheduled: bool,
    /// The format of the answer.
    pub format: Option<String>,
    pub announce: Option<bool>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// What the functions find out about their installation.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    #[serde(default)]
    pub mode: Mode,
    /// Why Consul could not be asked; then nothing else is known.
    pub consul: Option<Problem>,
    /// The version of Consul, if its token may read it.
    pub version: Option<String>,
    /// The permissions that the controller's token lacks, as the rules that grant them.
    pub missing_permissions: Vec<String>,
    /// `None` if ACLs are off in Consul, or if it could not be read.
    pub token: Option<TokenReport>,
    #[serde(default)]
    pub acls_disabled: bool,
    /// What the bootstrap would do.
    pub set_up: SetUpReport,
    /// Why a sweep could not read everything.
    pub problems: Vec<Problem>,
    /// The things that a sweep would leave alone, because an error concerns them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Problem>,
    /// The clusters of which a sweep would hold something back, with the reason.
    pub held_back: Vec<String>,
}

/// The controller's token, without its secret ID.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenReport {
    pub accessor_id: String,
    /// The names of its policies.
    pub policies: Vec<String>,
    /// The rules of these policies that the controller does not need.
    #[serde(default)]
    pub excess: Vec<String>,
}

/// What the bootstrap would do.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetUpReport {
    /// The objects that Consul does not have.
    pub missing: Vec<String>,
    /// The objects that it would extend.
    pub incomplete: Vec<String>,
    /// The objects that this Consul cannot have.
    pub skipped: Vec<String>,
    /// Why objects could not be compared.
    pub failed: Vec<String>,
    /// How many objects are as they should be.
    pub complete: usize,
}
