//! Who needs a token: a task that lives, one of which an event tells, or one that is still to come.

use std::collections::BTreeMap;

use super::{Controller, ControllerError, DESCRIBED_AT_ONCE};
use mesh::{
    arn::{ClusterArn, TaskArn},
    phase::TaskPhase,
    task::TaskChange,
};

/// Who needs the token.
pub(super) enum Need<'a> {
    /// A task that ECS called active a moment ago, in this cluster.
    Known(&'a ClusterArn),
    /// Events said so, but they may be old.
    Claimed(&'a [&'a TaskChange]),
    /// No task yet: one may start in this cluster.
    Ahead(&'a ClusterArn),
}

impl Controller {
    /// The cluster of a task that needs the token; `None` where none does any more.
    pub(super) async fn cluster_of_need(&self, need: &Need<'_>) -> Result<Option<ClusterArn>, ControllerError> {
        match need {
            Need::Known(cluster) | Need::Ahead(cluster) => Ok(Some((*cluster).clone())),
            Need::Claimed(changes) => self.cluster_in_need(changes).await,
        }
    }

    /// The cluster of a task that needs the token, so that an old event makes nothing for the dead.
    ///
    /// A new event is believed without asking: ECS may not describe its task yet.
    async fn cluster_in_need(&self, changes: &[&TaskChange]) -> Result<Option<ClusterArn>, ControllerError> {
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
