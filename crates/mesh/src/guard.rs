//! The guard: decides which removals of a sweep's plan are made now, which wait, and which need a person.
//!
//! It protects the living, not the dead. What ECS describes as STOPPED is always removed. A task that ECS does not describe
//! is removed once it is too old to be missing only because answers of ECS lag ([`Wait`]). If the listing may be incomplete
//! as well ([`TaskCounts`]), at most a share of a service's and of a cluster's tasks is removed, and above it nothing until
//! an operator forces it: an incomplete view, because of an incomplete answer of ECS or a defect, makes a sweep plan too
//! many deletions.

mod age;
pub mod corrections;
pub mod limits;
mod share;

use std::collections::BTreeSet;

use jiff::Timestamp;

pub use self::age::Wait;
pub use self::limits::{Alarm, MaxDeletePercent, TaskCounts};
use self::{
    age::Ages,
    share::{Shares, instances_of, service_of},
};
use super::{
    action::{Action, Planned},
    arn::{ClusterArn, TaskArn},
    bounds::Bounds,
    observed::Observed,
    token::ListedToken,
};

/// What decides about the removals of a sweep.
#[derive(Debug, Clone, Copy)]
pub struct Guard<'a> {
    /// The largest share; 100 if an operator forces the removals.
    pub limit: MaxDeletePercent,
    /// The time bounds.
    pub bounds: &'a Bounds,
    /// When the sweep began: its reads are later.
    pub now: Timestamp,
    /// In a second look, the tasks that ECS did not know `ecs-lag` ago.
    pub waited: Option<&'a BTreeSet<TaskArn>>,
    /// Whether an operator forced the sweep before this second look: then no share holds the tasks in `waited`.
    pub is_forced: bool,
}

/// The plan of a sweep, as the guard divides it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Divided {
    /// What is done now.
    pub allowed: Vec<Planned>,
    /// Removals that wait, and for what.
    pub waiting: Vec<(Planned, Wait)>,
    /// Removals that need a person.
    pub held_back: Vec<Planned>,
    /// Why, by cluster.
    pub alarms: Vec<(ClusterArn, Alarm)>,
}

impl Guard<'_> {
    /// Divides the plan of a sweep.
    pub fn divide(self, planned: Vec<Planned>, observed: &Observed) -> Divided {
        let ages = Ages::new(self.bounds, self.now, self.waited, observed);
        let (mut due, mut waiting) = (Vec::new(), Vec::new());
        for planned in planned {
            match ages.wait(&planned) {
                None => due.push(planned),
                Some(wait) => waiting.push((planned, wait)),
            }
        }
        let forced = self.waited.filter(|_| self.is_forced);
        let shares = Shares::new(self.limit, observed, &due, forced);
        let (held_back, allowed) = due.into_iter().partition(|planned| shares.hold(planned));
        Divided { allowed, waiting, held_back, alarms: shares.alarms() }
    }
}

/// Whether Consul holds something of the cluster's tasks: login tokens, used tokens of services, or instances.
pub fn has_entries(observed: &Observed, cluster: &ClusterArn) -> bool {
    let is_used = |token: &ListedToken| {
        let login = token.login.as_ref().map(|login| cluster.is_named_by(&login.cluster));
        login.unwrap_or_else(|| service_of(token, cluster).is_some_and(|mark| mark.unused_since.is_none()))
    };
    observed.tokens.iter().any(is_used)
        || observed.instances.iter().any(|instance| instance.node == cluster.as_str())
        || observed.agents.iter().any(|agent| instances_of(agent, cluster).next().is_some())
}

/// Whether an action deletes something of `cluster`, or depends on what was read of it: a service is idle only if no
/// cluster has a task of it.
pub fn concerns(action: &Action, cluster: &ClusterArn) -> bool {
    match action {
        Action::DeleteLoginToken(token) => {
            token.login.as_ref().is_some_and(|login| cluster.is_named_by(&login.cluster))
        }
        Action::Deregister(instance) => instance.node == cluster.as_str(),
        Action::ForceLeave(agent) => instances_of(agent, cluster).next().is_some(),
        Action::DeregisterNode(node) => node.cluster == *cluster,
        Action::Hide(..) | Action::Revoke(..) | Action::DeleteOrphan(..) => true,
        Action::Provision(_)
        | Action::MarkCritical(..)
        | Action::AwaitAgent(_)
        | Action::CheckIdleness(_)
        | Action::ShowOrphan(..) => false,
    }
}

#[cfg(test)]
mod tests;
