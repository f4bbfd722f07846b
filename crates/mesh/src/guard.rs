//! The guard: decides which removals of a sweep's plan are made now, which wait, and which need a person.
//!
//! It protects the living, not the dead. What ECS describes as STOPPED is always removed. A task that ECS does not describe
//! is removed once it is too old to be missing only because answers of ECS lag ([`Wait`]). If the listing may be incomplete
//! as well ([`TaskCounts`]), at most a share of a service's and of a cluster's tasks is removed, and none of a small service's
//! that ECS may count without listing them. Above that, nothing is removed until an operator forces it: an incomplete view,
//! because of an incomplete answer of ECS or a defect, makes a sweep plan too many deletions.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use self::{
    corrections::{Corrections, HeldBack},
    share::{Shares, instances_of, service_of},
};
use crate::{
    arn::{ClusterArn, TaskArn, TaskId},
    catalog::ServiceInstance,
    consul_ecs::service_behind,
    plan::{Action, Observed, Planned, TaskCounts},
    time::Bounds,
    token::ListedToken,
};

pub mod corrections;
pub mod drains;
mod share;

/// What decides about the removals of a sweep.
#[derive(Debug, Clone, Copy)]
pub struct Guard<'a> {
    /// The largest share; 100 if an operator forces the removals.
    pub limit: MaxDeletePercent,
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
    /// Drains that are held back, and why.
    pub drains: Vec<(Planned, HeldBack)>,
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
        let mut corrections = Corrections::new((self.limit != MaxDeletePercent::NO_LIMIT).then_some(self.limit));
        let (allowed, drains) = drains::hold_back(allowed, &observed.checks, &mut corrections);
        let too_many = drains.iter().filter_map(|(planned, why)| drains::alarm(planned, why, observed));
        let mut alarms = shares.alarms();
        alarms.extend(too_many.collect::<BTreeMap<_, _>>());
        Divided { allowed, waiting, held_back, drains, alarms }
    }
}

/// Whether Consul holds something of the cluster's tasks: login tokens, used tokens of services, or instances.
pub fn has_entries(observed: &Observed, cluster: &ClusterArn) -> bool {
    let is_used = |token: &ListedToken| {
        let login = token.login().map(|login| cluster.is_named_by(&login.cluster));
        login.unwrap_or_else(|| service_of(token, cluster).is_some_and(|mark| mark.unused_since.is_none()))
    };
    observed.tokens.iter().any(is_used)
        || observed.instances.iter().any(|instance| instance.node == cluster.as_str())
        || observed.agents.iter().any(|agent| instances_of(agent, cluster).next().is_some())
}

#[cfg(test)]
mod tests;

/// The smallest number of tasks, or of services with a token, to which the share applies.
const MIN_OBJECTS: usize = 10;

/// The largest share of the tasks of a service or cluster, or of the services with a token, that one sweep may remove
/// where the listing of ECS may be incomplete, in per cent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxDeletePercent(u8);

impl MaxDeletePercent {
    /// From 0 (no deletion where there are ten or more) to 100 (no limit).
    pub fn new(percent: u8) -> Option<Self> {
        (percent <= 100).then_some(Self(percent))
    }

    /// For removals that an operator forces.
    pub const NO_LIMIT: Self = Self(100);

    fn is_exceeded_by(self, deleted: usize, owned: usize) -> bool {
        owned >= MIN_OBJECTS && deleted * 100 > owned * usize::from(self.0)
    }

    /// Whether so many unknown tasks of a service are kept. Of few tasks, a share says nothing; but if ECS counts as many tasks that it
    /// does not list, these may be they. One such task is no sign: counts and lists lag while a task starts or stops.
    fn keeps_unknown(self, unknown: usize, owned: usize, counts: TaskCounts) -> bool {
        let may_be_unlisted = owned < MIN_OBJECTS && unknown > 1 && unknown <= counts.unlisted();
        self.is_exceeded_by(unknown, owned) || (self != Self::NO_LIMIT && may_be_unlisted)
    }
}

/// Why the guard holds removals of a cluster back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Alarm {
    /// The plan deletes too large a share.
    #[error("the plan deletes {deleted} of {owned} {what}, more than MaxDeletePercent ({percent} %)")]
    TooMany {
        /// `services' tokens`.
        what: &'static str,
        /// How many it would delete.
        deleted: usize,
        /// How many there are.
        owned: usize,
        percent: u8,
    },
    /// Too large a share of a service's instances would be drained.
    #[error(transparent)]
    Drains(HeldBack),
    /// ECS does not know too large a share of the tasks, and its listing may be incomplete.
    #[error(
        "ECS does not know {unknown} of {owned} {what}, and its list may be incomplete: it counts {} running and pending tasks in the \
         cluster, and lists {} of them", counts.counted, counts.listed + counts.young
    )]
    Unknown {
        /// `tasks of service web`, or `tasks` of the cluster.
        what: String,
        /// How many it does not know.
        unknown: usize,
        /// How many there are.
        owned: usize,
        /// What ECS counts and lists.
        counts: TaskCounts,
    },
}

/// What a removal waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// The task logged in recently: a later sweep finds it older.
    Age,
    /// A second look at the task in ECS.
    SecondLook,
}

/// What is known of the age of the tasks that ECS does not know.
struct Ages<'a> {
    bounds: &'a Bounds,
    now: Timestamp,
    /// The tasks that ECS did not know at the first look.
    waited: Option<&'a BTreeSet<TaskArn>>,
    observed: &'a Observed,
    /// The tasks of clusters in which ECS counts no task.
    uncounted: BTreeSet<&'a TaskArn>,
    logins: BTreeMap<&'a TaskId, Vec<&'a ListedToken>>,
}

impl<'a> Ages<'a> {
    fn new(bounds: &'a Bounds, now: Timestamp, waited: Option<&'a BTreeSet<TaskArn>>, observed: &'a Observed) -> Self {
        let mut logins: BTreeMap<_, Vec<&ListedToken>> = BTreeMap::new();
        for token in &observed.tokens {
            if let Some(login) = token.login() {
                logins.entry(&login.task).or_default().push(token);
            }
        }
        let empty = observed.counts.iter().filter(|(_, counts)| counts.counted == 0);
        let uncounted = empty.flat_map(|(cluster, _)| observed.unknown.iter().filter(|task| task.is_in(cluster)));
        Self { bounds, now, waited, observed, uncounted: uncounted.collect(), logins }
    }

    /// What a planned removal waits for, if it does.
    fn wait(&self, planned: &Planned) -> Option<Wait> {
        match &planned.action {
            Action::DeleteLoginToken(token) => {
                planned.tasks.iter().filter_map(|task| self.wait_of(task, [token.created_at].into_iter())).max()
            }
            Action::Deregister(instance) => {
                planned.tasks.iter().filter_map(|task| self.wait_of_instance(task, instance)).max()
            }
            Action::ForceLeave(agent) => {
                let instances = agent.node.instances.iter();
                instances.filter_map(|it| self.wait_of_instance(it.task_arn.as_ref()?, it)).max()
            }
            _ => None,
        }
    }

    fn wait_of_instance(&self, task: &TaskArn, instance: &ServiceInstance) -> Option<Wait> {
        let logins = self.logins.get(&instance.task).into_iter().flatten();
        self.wait_of(task, logins.filter(|token| covers(token, instance)).map(|token| token.created_at))
    }

    /// What the removal of an entry of `task` waits for, which logged in at these times.
    fn wait_of(&self, task: &TaskArn, logged_in: impl Iterator<Item = Option<Timestamp>>) -> Option<Wait> {
        if !self.observed.unknown.contains(task) {
            return None;
        }
        let has_waited = self.waited.is_some_and(|waited| waited.contains(task));
        if self.uncounted.contains(task) && !has_waited {
            return Some(Wait::SecondLook);
        }
        let mut is_young = false;
        for at in logged_in.flatten() {
            if !self.bounds.may_lag(at, self.now) {
                return None;
            }
            is_young = true;
        }
        if is_young { Some(Wait::Age) } else { (!has_waited).then_some(Wait::SecondLook) }
    }
}

/// Whether a login token grants the registration of an instance: its description names the task, which the task's author
/// chooses, and its grants are the proof.
fn covers(token: &ListedToken, instance: &ServiceInstance) -> bool {
    let service = service_behind(&instance.name);
    token.auth_method.is_some()
        && token.grants.services.iter().any(|grant| grant.service == service)
        && token.tenancy.is_same_place(&instance.tenancy)
}
