//! What a survey of whole clusters has seen.

use std::{collections::BTreeSet, sync::Arc};

use jiff::Timestamp;
use mesh::{arn::ClusterArn, observed::Observed, task::DescribedTask, tenancy::Tenancy};

use super::order::SweepOrder;
use crate::{error::ControllerError, tasks::ClusterTasks};

/// What a sweep saw.
#[derive(Default)]
pub(crate) struct Survey {
    /// When it began, by the function's clock: everything was read later.
    pub(crate) began: Timestamp,
    pub(crate) observed: Observed,
    pub(crate) readings: Vec<Reading>,
    /// One tenancy for each of Consul's partitions that was looked at.
    pub(crate) partitions: Vec<Tenancy>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) skipped: Vec<Skipped>,
    /// Clusters of which it is not known what Consul holds.
    pub(crate) unread: BTreeSet<ClusterArn>,
}

impl Survey {
    /// Something that Consul holds of `clusters` could not be read.
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

/// How a cluster was read.
pub(crate) struct Reading {
    pub(crate) cluster: ClusterArn,
    /// Whether all of it could be read.
    pub(crate) is_judged: bool,
    /// Whether ECS has deleted it.
    pub(crate) is_deleted: bool,
    /// How many tasks ECS lists, and how many of them live.
    pub(crate) listed: usize,
    pub(crate) living: usize,
}

/// A part that could not be read or done.
pub(crate) struct Problem {
    pub(crate) cluster: Option<ClusterArn>,
    pub(crate) error: Arc<ControllerError>,
}

impl Problem {
    pub(crate) fn new(cluster: Option<&ClusterArn>, error: impl Into<Arc<ControllerError>>) -> Self {
        Self { cluster: cluster.cloned(), error: error.into() }
    }
}

/// Something that was left alone, and why.
pub(crate) struct Skipped {
    pub(crate) cluster: ClusterArn,
    pub(crate) what: String,
    pub(crate) why: String,
}

/// The clusters as ECS describes them.
pub(crate) struct Clusters {
    pub(crate) read: Vec<ClusterTasks>,
    pub(crate) deleted: BTreeSet<ClusterArn>,
}

impl Clusters {
    pub(crate) fn tasks(&self, cluster: &ClusterArn) -> &[DescribedTask] {
        self.read.iter().find(|read| read.cluster == *cluster).map_or(&[], |read| &read.tasks)
    }

    /// Whether a service may be called idle. The guard judges the clusters of the order by what Consul holds of them; of the
    /// others, and of `unread` ones, nobody knows whether they are in use, so that an empty list proves nothing.
    pub(crate) fn can_prove_idleness(&self, order: &SweepOrder, unread: &BTreeSet<ClusterArn>) -> bool {
        let is_judged = |cluster| order.includes(cluster) && !unread.contains(cluster);
        order.force || self.read.iter().all(|read| !read.tasks.is_empty() || is_judged(&read.cluster))
    }

    pub(crate) fn is_read(&self, cluster: &ClusterArn) -> bool {
        self.deleted.contains(cluster) || self.read.iter().any(|read| read.cluster == *cluster)
    }
}
