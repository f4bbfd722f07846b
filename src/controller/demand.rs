//! The demand for a token: by a task that lives, by one of which an event tells, or by one that is still to come.

use std::collections::BTreeMap;

use super::{Controller, ControllerError, DESCRIBED_AT_ONCE};
use mesh::{
    arn::{ClusterArn, TaskArn},
    phase::TaskPhase,
    task::TaskChange,
};

/// The demand for a token.
pub(super) enum Demand<'a> {
    /// A listing of ECS shows an active task in this cluster.
    Listed(&'a ClusterArn),
    /// Events tell of active tasks, but they may be old.
    Told(&'a [&'a TaskChange]),
    /// No task needs it yet: one may start in this cluster.
    Ahead(&'a ClusterArn),
}

impl Controller {
    /// The cluster of a task that needs the token; `None` where none does any more.
    pub(super) async fn cluster_of_demand(&self, demand: &Demand<'_>) -> Result<Option<ClusterArn>, ControllerError> {
        match demand {
            Demand::Listed(cluster) | Demand::Ahead(cluster) => Ok(Some((*cluster).clone())),
            Demand::Told(changes) => self.cluster_of_active_task(changes).await,
        }
    }

    /// The cluster of a task that needs the token, so that an old event makes nothing for the dead.
    ///
    /// A new event is believed without asking: ECS may not describe its task yet.
    async fn cluster_of_active_task(&self, changes: &[&TaskChange]) -> Result<Option<ClusterArn>, ControllerError> {
        let now = self.edges.clock.now();
        let is_new = |change: &&&TaskChange| self.scope.bounds.may_lag(change.time, now);
        if let Some(new) = changes.iter().find(is_new) {
            return Ok(Some(new.cluster.clone()));
        }
        let mut clusters: BTreeMap<&ClusterArn, Vec<TaskArn>> = BTreeMap::new();
        for change in changes {
            clusters.entry(&change.cluster).or_default().push(change.arn.clone());
        }
        for (cluster, mut tasks) in clusters {
            tasks.truncate(DESCRIBED_AT_ONCE);
            let answer = self.edges.ecs.describe_tasks(cluster, &tasks).await?;
            if answer.iter().any(|task| task.phase == TaskPhase::Active) {
                return Ok(Some(cluster.clone()));
            }
        }
        Ok(None)
    }
}
