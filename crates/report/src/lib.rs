//! What one process writes and another reads: the function `reconcile` writes these values as JSON, into its answer and its log, and
//! `ecs-mesh` reads them. A command line may be older or newer than its function, so fields that came later have a default, and
//! enums have a variant for what they do not know.
//!
//! ```text
//!  ReconcileOrder                                                               what invokes reconcile
//!  SweepReport ─▶ ClusterReport ─▶ PlannedAction, Waiting, Blocked, Skipped     {"dryRun": true} and others
//!  CheckReport ─▶ TokenReport, SetUpReport                                      {"check": true}
//!       └──────────┴─▶ Problem
//!  LogLine ─▶ LogAction, LogOutcome, ErrorLabel                                 the log that why and compare read
//!  Envelope                                                                     a message in a queue
//! ```

mod action;
mod log;
mod names;
mod reconcile;
mod sweep;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::{
    action::{Blocked, CheckStatus, PlannedAction, Waiting},
    log::LogLine,
    names::{ErrorLabel, LogAction, LogOutcome},
    reconcile::{CheckReport, ReconcileOrder, SetUpReport, TokenReport},
    sweep::{ClusterReport, ClusterStatus, Counts, Skipped, SweepOutcome, SweepReport},
};

/// What could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The ARN of the cluster, if the problem concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_arn: Option<String>,
    pub label: ErrorLabel,
    /// The reason, in one sentence.
    pub reason: String,
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
