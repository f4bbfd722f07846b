//! The parameters of a sweep.

use std::collections::BTreeSet;

use mesh::{
    arn::{ClusterArn, TaskArn},
    cluster_selection::ClusterSelection,
    secret::Trigger,
};

use crate::tasks::ClusterStatuses;

/// The parameters of a sweep.
#[derive(Debug, Clone, Default)]
pub struct SweepOrder {
    /// The clusters to sweep; empty: all configured ones.
    pub clusters: Vec<ClusterArn>,
    /// Only report the plan.
    pub dry_run: bool,
    /// Ignore the guard, and treat clusters that ECS does not know as deleted.
    pub force: bool,
    pub cause: SweepCause,
}

/// Why there is a sweep.
#[derive(Debug, Clone, Default)]
pub enum SweepCause {
    /// An operator, or a deployment.
    #[default]
    Person,
    Schedule,
    /// An event reported that this cluster was deleted: ECS need not know it.
    ClusterDeleted(ClusterArn),
    /// Consul had lost the node of a cluster, and with it the registrations of all its tasks.
    NodeLost,
    /// The second look at what an earlier sweep left.
    SecondLook(Waited),
}

/// What an earlier sweep left to its second look.
#[derive(Debug, Clone)]
pub struct Waited {
    pub tasks: BTreeSet<TaskArn>,
    /// Whether an operator forced that sweep: the guard's share does not hold these tasks.
    pub is_forced: bool,
}

impl SweepOrder {
    pub fn trigger(&self) -> Trigger {
        match self.cause {
            SweepCause::Person => Trigger::Person,
            SweepCause::ClusterDeleted(_) => Trigger::Event,
            SweepCause::Schedule | SweepCause::NodeLost | SweepCause::SecondLook(_) => Trigger::Sweep,
        }
    }

    /// In a second look, what the earlier sweep left.
    pub fn waited(&self) -> Option<&Waited> {
        if let SweepCause::SecondLook(waited) = &self.cause { Some(waited) } else { None }
    }

    /// The cluster whose deletion was reported.
    fn deleted(&self) -> Option<&ClusterArn> {
        if let SweepCause::ClusterDeleted(cluster) = &self.cause { Some(cluster) } else { None }
    }

    pub(crate) fn includes(&self, cluster: &ClusterArn) -> bool {
        self.clusters.is_empty() || self.clusters.contains(cluster)
    }

    /// Whether `mark` names a cluster of the sweep, by ARN or by name.
    pub(crate) fn names(&self, mark: &str, selection: &ClusterSelection) -> bool {
        let is_ordered = || self.clusters.iter().any(|cluster| cluster.is_named_by(mark));
        selection.is_named_by(mark) && (self.clusters.is_empty() || is_ordered())
    }

    /// The clusters that the order names, which ECS need not list.
    pub fn named(&self) -> Vec<ClusterArn> {
        self.clusters.iter().chain(self.deleted()).cloned().collect()
    }

    /// The statuses without the cluster whose deletion was reported: answers of ECS lag behind its events.
    pub fn without_deleted(&self, statuses: &ClusterStatuses) -> ClusterStatuses {
        let mut statuses = statuses.clone();
        if let (Ok(statuses), Some(deleted)) = (&mut statuses, self.deleted()) {
            statuses.remove(deleted);
        }
        statuses
    }

    pub(crate) fn treats_unknown_as_deleted(&self, cluster: &ClusterArn) -> bool {
        self.force || self.deleted() == Some(cluster)
    }
}
