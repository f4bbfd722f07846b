//! How long a removal waits: a young task is not a gone task.
//!
//! ECS may describe a task up to `ecs-lag` late, and a task logs in 20 to 40 seconds after its creation. A task that ECS does
//! not describe is gone only if it is older than that. The time at which it logged in proves how old it is: a login token is
//! judged by its own age, an instance by the tokens whose grants cover it. Where no token says how old a task is, and where
//! ECS counts no task at all, a second look decides, made `ecs-lag` and the difference between clocks after the first.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::share::service;
use crate::{
    action::{Action, Planned},
    arn::{TaskArn, TaskId},
    bounds::Bounds,
    catalog::ServiceInstance,
    observed::Observed,
    token::ListedToken,
};

/// What a removal waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// The task logged in recently: a later sweep finds it older.
    Age,
    /// A second look at the task in ECS.
    SecondLook,
}

/// What is known of the age of the tasks that ECS does not know.
pub(super) struct Ages<'a> {
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
    pub(super) fn new(
        bounds: &'a Bounds,
        now: Timestamp,
        waited: Option<&'a BTreeSet<TaskArn>>,
        observed: &'a Observed,
    ) -> Self {
        let mut logins: BTreeMap<_, Vec<&ListedToken>> = BTreeMap::new();
        for token in &observed.tokens {
            if let Some(login) = &token.login {
                logins.entry(&login.task).or_default().push(token);
            }
        }
        let empty = observed.counts.iter().filter(|(_, counts)| counts.counted == 0);
        let uncounted = empty.flat_map(|(cluster, _)| observed.unknown.iter().filter(|task| task.is_in(cluster)));
        Self { bounds, now, waited, observed, uncounted: uncounted.collect(), logins }
    }

    /// What a planned removal waits for, if it does.
    pub(super) fn wait(&self, planned: &Planned) -> Option<Wait> {
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
    let service = service(&instance.name);
    token.auth_method.is_some()
        && token.grants.services.iter().any(|grant| grant.service == service)
        && token.tenancy.is_same_place(&instance.tenancy)
}
