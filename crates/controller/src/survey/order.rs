//! What is to be swept, and how.

use mesh::{arn::ClusterArn, secret::Trigger};

use crate::tasks::ClusterStatuses;

/// What is to be swept, and how.
#[derive(Debug, Clone, Default)]
pub struct SweepOrder {
    /// These of the configured clusters; empty: all.
    pub clusters: Vec<ClusterArn>,
    /// Only say what would be done.
    pub dry_run: bool,
    /// Do it even where the guard holds it back, and take clusters that ECS does not know for deleted ones.
    pub force: bool,
    /// A cluster that was reported as deleted: that ECS does not know it any more is no error.
    pub deleted: Option<ClusterArn>,
    /// Whether the schedule has asked, and not a person.
    pub is_scheduled: bool,
}

impl SweepOrder {
    pub(crate) fn trigger(&self) -> Trigger {
        match (self.is_scheduled, &self.deleted) {
            (true, _) => Trigger::Sweep,
            (false, Some(_)) => Trigger::Event,
            (false, None) => Trigger::Person,
        }
    }

    pub(crate) fn includes(&self, cluster: &ClusterArn) -> bool {
        self.clusters.is_empty() || self.clusters.contains(cluster)
    }

    /// What ECS says, but for the cluster that was reported as deleted: its answers lag behind its events.
    pub(crate) fn without_deleted(&self, statuses: &ClusterStatuses) -> ClusterStatuses {
        let mut statuses = statuses.clone();
        if let (Ok(statuses), Some(deleted)) = (&mut statuses, &self.deleted) {
            statuses.remove(deleted);
        }
        statuses
    }

    pub(crate) fn treats_unknown_as_deleted(&self, cluster: &ClusterArn) -> bool {
        self.force || self.deleted.as_ref() == Some(cluster)
    }
}
