//! The clusters of a world in ECS.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use mesh::{arn::ClusterArn, guard, plan::Observed, task::DescribedTask};

use super::order::SweepOrder;
use crate::tasks::ClusterTasks;

/// The clusters in ECS.
#[derive(Default)]
pub(crate) struct Clusters {
    /// Every cluster that was found.
    pub(crate) found: BTreeSet<ClusterArn>,
    /// Whether these are all clusters of the deployment.
    pub(crate) are_all_found: bool,
    pub(crate) read: ClusterTasks,
    /// How many running and pending tasks ECS counts in each existing one.
    pub(crate) counted: BTreeMap<ClusterArn, usize>,
    pub(crate) deleted: BTreeSet<ClusterArn>,
    /// The existing clusters whose names differ only in case. Their tasks are read, because they may use any service's token.
    pub(crate) namesakes: BTreeSet<ClusterArn>,
}

impl Clusters {
    pub(crate) fn tasks(&self, cluster: &ClusterArn) -> &[Arc<DescribedTask>] {
        self.read.get(cluster).map_or(&[], Vec::as_slice)
    }

    /// Whether the tasks of every cluster of the deployment were read.
    pub(crate) fn are_all_read(&self) -> bool {
        self.are_all_found && self.found.iter().all(|cluster| self.is_read(cluster))
    }

    /// Whether the listings prove that a service is idle. Without a cluster they do not, nor does an empty listing of a
    /// cluster that is not in the order or in `unread`.
    pub(crate) fn can_prove_idleness(&self, order: &SweepOrder, unread: &BTreeSet<ClusterArn>) -> bool {
        let is_judged = |cluster: &ClusterArn| order.includes(cluster) && !unread.contains(cluster);
        let mut read = self.read.iter();
        order.force || !self.found.is_empty() && read.all(|(cluster, tasks)| !tasks.is_empty() || is_judged(cluster))
    }

    /// Whether ECS lists no task of a cluster although Consul has entries of its tasks. A second look proves that there is
    /// none, if ECS counts none.
    pub(crate) fn is_emptiness_unproven(&self, order: &SweepOrder, observed: &Observed) -> bool {
        let is_proven = |cluster: &ClusterArn| order.waited().is_some() && self.counted.get(cluster) == Some(&0);
        let is_unproven = |cluster: &ClusterArn| guard::has_entries(observed, cluster) && !is_proven(cluster);
        !order.force && self.read.iter().any(|(cluster, tasks)| tasks.is_empty() && is_unproven(cluster))
    }

    pub(crate) fn is_read(&self, cluster: &ClusterArn) -> bool {
        self.deleted.contains(cluster) || self.read.contains_key(cluster)
    }
}
