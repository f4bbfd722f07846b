//! The report of a sweep.

use std::{borrow::Cow, collections::BTreeMap};

use mesh::settings::Mode;
use serde::{Deserialize, Serialize};

use crate::{
    Problem,
    action::{Blocked, PlannedAction, Waiting},
};

/// How a sweep ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SweepOutcome {
    /// Everything was read and done.
    Done,
    /// Everything was read, and nothing was changed, because the mode is `observe`.
    Observed,
    /// Nothing was changed, because only the plan was requested.
    DryRun,
    /// The guard stopped deletions or corrections.
    GuardTripped,
    /// An error concerned everything: something could not be read or written.
    Incomplete,
    /// An outcome of a newer function.
    #[serde(other)]
    Other,
}

impl SweepOutcome {
    /// The `outcome` in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Observed => "observed",
            Self::DryRun => "dry_run",
            Self::GuardTripped => "guard_tripped",
            Self::Incomplete => "incomplete",
            Self::Other => "other",
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SweepReport {
    /// With `observe`, nothing of what it reports was done.
    #[serde(default)]
    pub mode: Mode,
    pub outcome: SweepOutcome,
    /// One entry for each swept cluster.
    pub clusters: Vec<ClusterReport>,
    /// Errors that concern everything, and make the sweep incomplete.
    pub problems: Vec<Problem>,
    /// Errors that concern one thing each: it was left alone, and everything else was done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Problem>,
}

/// Whether a cluster was judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClusterStatus {
    #[default]
    Active,
    Deleted,
    /// Its tasks could not be read, so that nothing of it was deleted.
    Unread,
    /// A status of a newer function.
    #[serde(other)]
    Other,
}

/// What was found and changed in a cluster.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterReport {
    pub cluster_arn: String,
    pub status: ClusterStatus,
    /// The numbers of observed objects.
    #[serde(default)]
    pub found: Counts,
    /// The number of tokens that were created or written into their secrets.
    pub created: Counts,
    /// The number of hidden tokens of idle services, to be deleted later.
    pub hidden: usize,
    /// The numbers of deleted objects.
    pub deleted: Counts,
    /// The number of drained service instances.
    pub drained: usize,
    /// The number of tasks of which something was registered again.
    pub repaired: usize,
    /// The number of checks whose status was corrected.
    pub corrected: usize,
    /// The number of actions that failed or for which time ran out.
    pub left: usize,
    /// Why the guard stopped deletions or corrections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<String>,
    /// The writes that a sweep would make now: of a dry run, and of repairs that are only reported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planned: Vec<PlannedAction>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<Waiting>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<Blocked>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
}

/// Numbers by kind.
pub type Counts = BTreeMap<Cow<'static, str>, usize>;

/// An object that was left as it is, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    pub what: String,
    pub why: String,
}

impl SweepReport {
    /// Whether the guard holds something back.
    pub fn is_held_back(&self) -> bool {
        self.clusters.iter().any(|cluster| cluster.guard.is_some())
    }
}

impl ClusterReport {
    /// The name of the cluster.
    pub fn name(&self) -> &str {
        self.cluster_arn.rsplit('/').next().unwrap_or_default()
    }
}
