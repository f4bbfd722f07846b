//! What invokes `reconcile` and `audit`, and the answer to a check of the installation. The answer to a sweep is [`crate::SweepReport`].

use mesh::settings::Mode;
use serde::{Deserialize, Serialize};

use crate::Problem;

/// An invocation of `reconcile` by an operator, the command line or the schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ReconcilePayload", into = "ReconcilePayload")]
pub enum ReconcileOrder {
    /// A sweep that a person asks for.
    Sweep {
        /// The ARNs of the clusters; empty: all.
        clusters: Vec<String>,
        dry_run: bool,
        force: bool,
    },
    /// The sweep of the template's schedule.
    ScheduledSweep,
    /// A check of the installation, instead of a sweep.
    Check,
}

/// Its payload: `check` and `scheduled` each stand alone.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the payload")]
pub(crate) struct ReconcilePayload {
    clusters: Vec<String>,
    dry_run: bool,
    force: bool,
    #[serde(skip_serializing_if = "is_false")]
    check: bool,
    #[serde(skip_serializing_if = "is_false")]
    scheduled: bool,
}

impl TryFrom<ReconcilePayload> for ReconcileOrder {
    type Error = &'static str;

    fn try_from(payload: ReconcilePayload) -> Result<Self, Self::Error> {
        let ReconcilePayload { clusters, dry_run, force, check, scheduled } = payload;
        let is_plain = clusters.is_empty() && !dry_run && !force;
        match (check, scheduled) {
            (false, false) => Ok(Self::Sweep { clusters, dry_run, force }),
            (true, false) if is_plain => Ok(Self::Check),
            (false, true) if is_plain => Ok(Self::ScheduledSweep),
            _ => Err("`check` and `scheduled` take no other field"),
        }
    }
}

impl From<ReconcileOrder> for ReconcilePayload {
    fn from(order: ReconcileOrder) -> Self {
        match order {
            ReconcileOrder::Sweep { clusters, dry_run, force } => Self { clusters, dry_run, force, ..Self::default() },
            ReconcileOrder::ScheduledSweep => Self { scheduled: true, ..Self::default() },
            ReconcileOrder::Check => Self { check: true, ..Self::default() },
        }
    }
}

/// An invocation of `audit` by an operator or the schedule.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "AuditPayload")]
pub struct AuditOrder {
    pub scope: AuditScope,
    /// The format of the answer.
    pub format: Option<String>,
    pub announce: Option<bool>,
}

/// What to audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditScope {
    /// The revisions that a cluster runs, by its name or ARN.
    Cluster(String),
    /// The newest revision of a family.
    Family(String),
    /// `family:revision`, or an ARN.
    TaskDefinition(String),
    /// Everything that the account runs in the region, and the newest revision of every family.
    All,
    /// The revisions that the deployment's clusters run: the audit of the template's schedule.
    Scheduled,
}

/// Its payload: one of the first five fields.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AuditPayload {
    cluster: Option<String>,
    family: Option<String>,
    task_definition: Option<String>,
    #[serde(default)]
    all: bool,
    #[serde(default)]
    scheduled: bool,
    format: Option<String>,
    announce: Option<bool>,
}

impl TryFrom<AuditPayload> for AuditOrder {
    type Error = &'static str;

    fn try_from(payload: AuditPayload) -> Result<Self, Self::Error> {
        let AuditPayload { cluster, family, task_definition, all, scheduled, format, announce } = payload;
        if [&cluster, &family, &task_definition].into_iter().flatten().any(String::is_empty) {
            return Err("the name is empty");
        }
        let named = cluster.map(AuditScope::Cluster).into_iter().chain(family.map(AuditScope::Family));
        let named = named.chain(task_definition.map(AuditScope::TaskDefinition));
        let mut scopes = named.chain(all.then_some(AuditScope::All)).chain(scheduled.then_some(AuditScope::Scheduled));
        match (scopes.next(), scopes.next()) {
            (Some(scope), None) => Ok(Self { scope, format, announce }),
            (Some(_), Some(_)) => Err("the order names several scopes"),
            (None, _) => Err("the order names no scope"),
        }
    }
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

#[cfg(test)]
mod tests {
    use serde_json::{from_str, from_value, json};

    use super::*;

    #[test]
    fn check_and_scheduled_take_no_other_field() {
        let refused = [
            r#"{"check":true,"dryRun":true}"#,
            r#"{"scheduled":true,"force":true}"#,
            r#"{"check":true,"scheduled":true}"#,
        ];
        for text in refused {
            assert!(from_str::<ReconcileOrder>(text).is_err(), "{text}");
        }
        let sweep = ReconcileOrder::Sweep { clusters: vec!["a".to_owned()], dry_run: true, force: false };
        for order in [ReconcileOrder::Check, ReconcileOrder::ScheduledSweep, sweep] {
            assert_eq!(from_value::<ReconcileOrder>(json!(order)).unwrap(), order);
        }
    }
}
