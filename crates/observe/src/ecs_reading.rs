//! What was read of clusters in ECS before their world.

use std::collections::BTreeMap;

use aws::ecs::ClusterStatus;
use jiff::Timestamp;
use mesh::arn::ClusterArn;

use crate::{
    inspection::Inspection,
    tasks::{ClusterStatuses, ListedTasks, namesakes},
};

/// What was read of clusters in ECS before their world: their statuses, and their tasks if an inspection has listed them.
///
/// One list of tasks serves an inspection and a plan, whose orders differ: an inspection reads Consul before the list, a plan after
/// it. So a command inspects first, and the plan reads Consul again.
pub struct EcsReading {
    /// Before the first read.
    pub began: Timestamp,
    pub statuses: ClusterStatuses,
    listed: BTreeMap<ClusterArn, ListedTasks>,
}

impl EcsReading {
    pub(crate) fn new(began: Timestamp, statuses: ClusterStatuses) -> Self {
        Self { began, statuses, listed: BTreeMap::new() }
    }

    /// The same with the tasks that an inspection has listed since.
    #[must_use]
    pub fn with_tasks_of(self, inspection: &Inspection) -> Self {
        let listed = inspection.clusters.iter().map(|cluster| (cluster.arn.clone(), cluster.listed.clone()));
        Self { listed: listed.collect(), ..self }
    }

    /// The clusters that exist and whose names tell them apart.
    pub fn existing(&self) -> Vec<ClusterArn> {
        let Ok(statuses) = &self.statuses else { return Vec::new() };
        let namesakes = namesakes(statuses);
        let active = statuses.iter().filter(|(_, status)| matches!(status, ClusterStatus::Active { .. }));
        active.map(|(cluster, _)| cluster).filter(|cluster| !namesakes.contains(*cluster)).cloned().collect()
    }

    /// The tasks of a cluster, if they were listed.
    pub(crate) fn listed(&self, cluster: &ClusterArn) -> Option<&ListedTasks> {
        self.listed.get(cluster)
    }
}
