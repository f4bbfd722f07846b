//! What the log of mode `observe` tells: what the controller would have done, and when it has swept.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use report::{ClusterStatus, LogAction, LogLine, LogOutcome, SweepReport};

use super::Kind;

/// Something that the controller would have done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) kind: Kind,
    /// An instance, a token or a task, or the holder of a token.
    pub(super) subject: String,
    pub(super) cluster: Option<String>,
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
}

/// All of it, each thing once.
pub(super) fn planned(lines: &[LogLine]) -> Vec<Planned> {
    let mut found: BTreeMap<(Kind, String), Planned> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.has(&LogOutcome::Observed)) {
        let Some((kind, subject)) = kind_and_subject(line) else { continue };
        let planned = found.entry((kind, subject.clone())).or_insert_with(|| Planned {
            kind,
            subject,
            cluster: line.cluster_arn.clone(),
            first: line.at,
            last: line.at,
        });
        planned.last = planned.last.max(line.at);
    }
    found.into_values().collect()
}

fn kind_and_subject(line: &LogLine) -> Option<(Kind, String)> {
    let (kind, subject) = match line.action.as_ref()? {
        LogAction::Deregister => (Kind::InstancesDeregistered, &line.service_id),
        LogAction::DeleteLoginToken => (Kind::LoginTokensDeleted, &line.accessor_id),
        LogAction::CreateToken => (Kind::TokensCreated, &line.holder),
        LogAction::HideToken => (Kind::TokensDeleted, &line.accessor_id),
        LogAction::Repair => (Kind::TasksRepaired, &line.task_id),
        LogAction::CorrectHealth => (Kind::TasksCorrected, &line.task_id),
        LogAction::MarkCritical => (Kind::InstancesDrained, &line.check_id),
        _ => return None,
    };
    Some((kind, subject.clone()?))
}

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
    pub(super) fn of(lines: &[LogLine]) -> Self {
        let complete = lines.iter().filter(|line| line.is(&LogAction::Sweep) && line.has(&LogOutcome::Observed));
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

fn sweep(line: &LogLine) -> Option<Sweep> {
    let report: SweepReport = serde_json::from_str(line.summary.as_deref()?).ok()?;
    let read = report.clusters.into_iter().filter(|cluster| cluster.status != ClusterStatus::Unread);
    Some(Sweep { at: line.at, clusters: read.map(|cluster| cluster.cluster_arn).collect() })
}
