//! What was read of whole clusters.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use mesh::{
    arn::{ClusterArn, TaskId},
    holder::TokenHolder,
    member::MemberTask,
    names::InvalidField,
    plan::Observed,
    repair::NodeReading,
    tenancy::Tenancy,
};

use super::clusters::Clusters;
use crate::{error::CallError, problem::Problem};

/// What was read of whole clusters.
#[derive(Default)]
pub struct World {
    /// When it started, by the clock of the function: every read is later.
    pub began: Timestamp,
    pub observed: Observed,
    /// Whether ACLs are off in Consul: then there are no tokens.
    pub are_acls_off: bool,
    pub readings: Vec<Reading>,
    /// One tenancy for each partition of Consul that was read.
    pub partitions: Vec<Tenancy>,
    pub problems: Vec<Problem>,
    pub skipped: Vec<Skipped>,
    /// The clusters with a synthetic node; read only if a pattern selects clusters.
    pub(crate) synthetic_nodes: BTreeSet<ClusterArn>,
    /// Clusters whose entries in Consul could not be read.
    pub(crate) unread: BTreeSet<ClusterArn>,
    /// The clusters' nodes that could be read, with their checks.
    pub nodes: Vec<NodeReading>,
    /// The tasks of the mesh that are meant to run.
    pub running: Vec<MemberTask>,
    /// The holders whose secret the role may not read with this token mode.
    pub(crate) out_of_reach: BTreeSet<TokenHolder>,
    /// The unlisted tasks that ECS was not asked about, because the owners of their entries have too many.
    pub waiting: BTreeMap<ClusterArn, BTreeSet<TaskId>>,
    /// Whether every cluster of the deployment was read, in ECS and in Consul.
    pub is_full: bool,
    /// Whether ECS lists no task of a cluster although Consul has entries of its tasks: only a second look proves that its
    /// services are idle.
    pub is_emptiness_unproven: bool,
}

impl World {
    /// Whether ECS has deleted the cluster.
    pub(crate) fn is_deleted(&self, cluster: &ClusterArn) -> bool {
        self.readings.iter().any(|reading| reading.cluster == *cluster && reading.is_deleted)
    }

    /// Whether everything of the cluster was read, in ECS and in Consul.
    pub fn has_read_all_of(&self, cluster: &ClusterArn) -> bool {
        let is_judged = self.readings.iter().any(|it| it.cluster == *cluster && it.is_judged && !it.is_deleted);
        is_judged && !self.unread.contains(cluster)
    }

    /// Records that a cluster is not judged, because the name of another one differs only in case.
    pub(crate) fn refuse(&mut self, cluster: &ClusterArn, clusters: &Clusters) {
        let expected = "a name that differs from other clusters' in more than case, which Consul's node names ignore";
        let error = CallError::from(InvalidField::new("cluster", cluster.name(), expected));
        self.problems.push(Problem::new(Some(cluster), error));
        self.readings.push(Reading { is_judged: false, ..Reading::of(cluster, clusters) });
    }

    /// Records that entries of `clusters` in Consul could not be read.
    pub(crate) fn mark_unread(&mut self, clusters: &[ClusterArn], concerned: Option<&ClusterArn>, error: CallError) {
        self.problems.push(Problem::new(concerned, error));
        self.unread.extend(clusters.iter().cloned());
    }
}

/// The tasks of a cluster, in numbers.
pub struct Reading {
    pub cluster: ClusterArn,
    /// Whether its tasks could be read.
    pub is_judged: bool,
    /// Whether ECS has deleted it.
    pub is_deleted: bool,
    /// The number of tasks that ECS lists, and of those that are not stopped.
    pub listed: usize,
    pub living: usize,
}

impl Reading {
    pub(crate) fn of(cluster: &ClusterArn, clusters: &Clusters) -> Self {
        let tasks = clusters.tasks(cluster);
        Self {
            cluster: cluster.clone(),
            is_judged: clusters.is_read(cluster),
            is_deleted: clusters.deleted.contains(cluster),
            listed: tasks.len(),
            living: tasks.iter().filter(|task| task.phase.is_living()).count(),
        }
    }
}

/// An object that was skipped, and why.
pub struct Skipped {
    pub cluster: ClusterArn,
    pub what: String,
    pub why: String,
}
