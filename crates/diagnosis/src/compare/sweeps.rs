//! The sweeps of mode `observe`, by their lines.

use std::collections::BTreeSet;

use jiff::Timestamp;
use report::{ClusterStatus, SweepReport};

use crate::log_line::Line;

/// A sweep: what it does not report was not to be done then.
struct Sweep {
    at: Timestamp,
    clusters: BTreeSet<String>,
}

/// Sweeps, oldest first.
pub(super) struct Sweeps {
    all: Vec<Sweep>,
    /// All clusters that any of them has swept.
    clusters: BTreeSet<String>,
}

impl Sweeps {
    /// The sweeps that read everything, of lines that are sorted by time.
    pub(super) fn of(lines: &[Line]) -> Self {
        let complete = lines.iter().filter(|line| line.action == "sweep" && line.is_observed());
        let all: Vec<Sweep> = complete.filter_map(sweep).collect();
        let clusters = all.iter().flat_map(|sweep| sweep.clusters.iter().cloned()).collect();
        Self { all, clusters }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// All clusters that any of them has swept.
    pub(super) fn clusters(&self) -> &BTreeSet<String> {
        &self.clusters
    }

    /// The first sweep of a cluster after a time. Without a cluster, one of all clusters.
    pub(super) fn next(&self, cluster: Option<&str>, after: Timestamp) -> Option<Timestamp> {
        let covers = |sweep: &&Sweep| match cluster {
            Some(cluster) => sweep.clusters.contains(cluster),
            None => sweep.clusters.is_superset(&self.clusters),
        };
        self.all.iter().filter(covers).map(|sweep| sweep.at).find(|at| *at > after)
    }
}

fn sweep(line: &Line) -> Option<Sweep> {
    let report: SweepReport = serde_json::from_str(line.summary.as_deref()?).ok()?;
    let read = report.clusters.into_iter().filter(|cluster| cluster.status != ClusterStatus::Unread);
    Some(Sweep { at: line.at, clusters: read.map(|cluster| cluster.cluster_arn).collect() })
}
