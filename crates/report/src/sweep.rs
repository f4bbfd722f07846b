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
    /// The number of entries that its lists lack, because the report would have been too long.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Whether a cluster was judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SweptStatus {
    #[default]
    Active,
    Deleted,
    /// Its tasks could not be read, so that nothing of it was deleted.
    Unread,
    /// It was not read, because ECS does not list it: only tokens name it.
    NotRead,
    /// A status of a newer function.
    #[serde(other)]
    Other,
}

/// What was found and changed in a cluster.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterReport {
    pub cluster_arn: String,
    pub status: SweptStatus,
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

/// To how many entries each list is cut, in turn, until a report is short enough.
const LENGTHS: [usize; 7] = [1_000, 300, 100, 30, 10, 3, 0];

impl SweepReport {
    /// The report in at most so many bytes of JSON, also if the JSON is quoted as a text: a log line has 256 KB, an answer 6 MB.
    /// Each of its lists loses its end, and `left_out` says how many entries.
    pub fn within(&self, bytes: usize) -> Cow<'_, Self> {
        if self.size() <= bytes {
            return Cow::Borrowed(self);
        }
        let mut cut = LENGTHS.into_iter().map(|length| self.cut(length));
        Cow::Owned(cut.find(|cut| cut.size() <= bytes).unwrap_or_else(|| self.cut(0)))
    }

    fn size(&self) -> usize {
        let json = serde_json::to_string(self).unwrap_or_default();
        json.len() + json.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count()
    }

    fn cut(&self, length: usize) -> Self {
        let (mut report, mut left_out) = (self.clone(), self.left_out);
        let rest = report.clusters.split_off(length.min(report.clusters.len()));
        left_out += rest.len() + rest.iter().map(ClusterReport::entries).sum::<usize>();
        for cluster in &mut report.clusters {
            left_out += cluster.entries();
            cluster.planned.truncate(length);
            cluster.waiting.truncate(length);
            cluster.blocked.truncate(length);
            cluster.skipped.truncate(length);
            left_out -= cluster.entries();
        }
        for problems in [&mut report.problems, &mut report.faults] {
            left_out += problems.len().saturating_sub(length);
            problems.truncate(length);
        }
        Self { left_out, ..report }
    }

    /// Whether the guard holds something back.
    pub fn is_held_back(&self) -> bool {
        self.clusters.iter().any(|cluster| cluster.guard.is_some())
    }
}

impl ClusterReport {
    /// The number of entries in its lists.
    fn entries(&self) -> usize {
        self.planned.len() + self.waiting.len() + self.blocked.len() + self.skipped.len()
    }

    /// The name of the cluster.
    pub fn name(&self) -> &str {
        self.cluster_arn.rsplit('/').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many clusters, each with so many entries in each of two lists.
    fn report(clusters: usize, entries: usize) -> SweepReport {
        let skipped = Skipped { what: "task \"a\"".to_owned(), why: "because".repeat(10) };
        let planned = PlannedAction::Provision { holder: "service web".to_owned() };
        let cluster = ClusterReport {
            cluster_arn: "arn:aws:ecs:us-east-1:123456789012:cluster/prod".to_owned(),
            planned: vec![planned; entries],
            skipped: vec![skipped; entries],
            ..ClusterReport::default()
        };
        SweepReport {
            mode: Mode::Act,
            outcome: SweepOutcome::Done,
            clusters: vec![cluster; clusters],
            problems: Vec::new(),
            faults: Vec::new(),
            left_out: 0,
        }
    }

    #[test]
    fn report_that_fits_is_whole() {
        let report = report(3, 5);
        assert!(matches!(report.within(100_000), Cow::Borrowed(_)));
        assert!(!serde_json::to_string(&report).unwrap().contains("leftOut"));
    }

    #[test]
    fn long_report_is_cut_and_says_by_how_much() {
        for (clusters, entries) in [(1, 5_000), (2_000, 0), (100, 100)] {
            let report = report(clusters, entries);
            let cut = report.within(200_000);
            let quoted = serde_json::to_string(&serde_json::to_string(&cut).unwrap()).unwrap();
            assert!(quoted.len() <= 200_002, "{}", quoted.len());
            let left = cut.clusters.len() + cut.clusters.iter().map(ClusterReport::entries).sum::<usize>();
            assert_eq!(left + cut.left_out, clusters + 2 * clusters * entries);
            assert!(!cut.clusters.is_empty());
        }
        assert_eq!(report(2_000, 0).within(10).clusters.len(), 0);
    }
}
