//! The result of a survey of whole clusters.

use std::{collections::BTreeSet, sync::Arc};

use jiff::Timestamp;
use mesh::{arn::ClusterArn, observed::Observed, task::DescribedTask, tenancy::Tenancy};

use super::order::SweepOrder;
use crate::{error::ControllerError, tasks::ClusterTasks};

/// The result of a survey.
#[derive(Default)]
pub(crate) struct Survey {
    /// When it started, by the clock of the function: every read is later.
    pub(crate) began: Timestamp,
    pub(crate) observed: Observed,
    pub(crate) readings: Vec<Reading>,
    /// One tenancy for each partition of Consul that was read.
    pub(crate) partitions: Vec<Tenancy>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) skipped: Vec<Skipped>,
    /// Clusters whose entries in Consul could not be read.
    pub(crate) unread: BTreeSet<ClusterArn>,
}

impl Survey {
    /// Records that entries of `clusters` in Consul could not be read.
    pub(crate) fn mark_unread(
        &mut self,
        clusters: &[&ClusterArn],
        concerned: Option<&ClusterArn>,
        error: ControllerError,
    ) {
        self.problems.push(Problem::new(concerned, error));
        self.unread.extend(clusters.iter().map(|cluster| (*cluster).clone()));
    }
}

/// The tasks of a cluster, in numbers.
pub(crate) struct Reading {
    pub(crate) cluster: ClusterArn,
    /// Whether its tasks could be read.
    pub(crate) is_judged: bool,
    /// Whether ECS has deleted it.
    pub(crate) is_deleted: bool,
    /// The number of tasks that ECS lists, and of those that are not stopped.
    pub(crate) listed: usize,
    pub(crate) living: usize,
}

/// What could not be read or written.
pub(crate) struct Problem {
    pub(crate) cluster: Option<ClusterArn>,
    pub(crate) error: Arc<ControllerError>,
}

impl Problem {
    pub(crate) fn new(cluster: Option<&ClusterArn>, error: impl Into<Arc<ControllerError>>) -> Self {
        Self { cluster: cluster.cloned(), error: error.into() }
    }
}

/// An object that was skipped, and why.
pub(crate) struct Skipped {
    pub(crate) cluster: ClusterArn,
    pub(crate) what: String,
    pub(crate) why: String,
}

/// The clusters in ECS.
pub(crate) struct Clusters {
    pub(crate) read: Vec<ClusterTasks>,
    pub(crate) deleted: BTreeSet<ClusterArn>,
}

impl Clusters {
    pub(crate) fn tasks(&self, cluster: &ClusterArn) -> &[DescribedTask] {
        self.read.iter().find(|read| read.cluster == *cluster).map_or(&[], |read| &read.tasks)
    }

    /// Whether the listings prove that a service is idle. The guard checks empty listings of the clusters in the order
    /// against their entries in Consul; for other clusters, and for `unread` ones, an empty listing proves nothing.
    pub(crate) fn can_prove_idleness(&self, order: &SweepOrder, unread: &BTreeSet<ClusterArn>) -> bool {
        let is_judged = |cluster| order.includes(cluster) && !unread.contains(cluster);
        order.force || self.read.iter().all(|read| !read.tasks.is_empty() || is_judged(&read.cluster))
    }

    pub(crate) fn is_read(&self, cluster: &ClusterArn) -> bool {
        self.deleted.contains(cluster) || self.read.iter().any(|read| read.cluster == *cluster)
    }
}
