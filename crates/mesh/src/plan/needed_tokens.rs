//! The tokens that the plan for events looks at: the others of a long list need not be kept.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    arn::{ClusterArn, TaskId},
    cluster_selection::ClusterSelection,
    mark::HolderMark,
    phase::TaskPhase,
    service_name::ServiceName,
    task::MeshTask,
    token::ListedToken,
};

/// Selects the tokens that the plan for events of `tasks` looks at: those for which a stopped task logged in, and those
/// that a controller created for the service of one.
pub struct NeededTokens<'a> {
    stopped: BTreeMap<&'a TaskId, Vec<&'a ClusterArn>>,
    services: BTreeSet<&'a ServiceName>,
    clusters: &'a ClusterSelection,
}

impl<'a> NeededTokens<'a> {
    /// The tokens for events of `tasks`, in a deployment of `clusters`.
    pub fn of(tasks: &'a [MeshTask], clusters: &'a ClusterSelection) -> Self {
        let mut needed = Self { stopped: BTreeMap::new(), services: BTreeSet::new(), clusters };
        for task in tasks.iter().filter(|task| task.phase == TaskPhase::Stopped) {
            needed.stopped.entry(task.arn.id()).or_default().push(&task.cluster);
            needed.services.extend(task.identity.iter().map(|identity| &identity.service.name));
        }
        needed
    }

    /// Whether the plan looks at the token.
    pub fn contains(&self, token: &ListedToken) -> bool {
        if let Some(login) = &token.login {
            let clusters = self.stopped.get(&login.task);
            return clusters.is_some_and(|clusters| clusters.iter().any(|of| login.is_of(&login.task, of)));
        }
        HolderMark::parse(&token.description).is_some_and(|mark| {
            mark.service.as_ref().is_some_and(|service| self.services.contains(service)) && mark.is_of(self.clusters)
        })
    }
}
