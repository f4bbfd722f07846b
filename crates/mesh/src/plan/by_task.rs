//! What was observed, by the ID of a task: a sweep has tens of thousands of tasks, tokens and services.

use std::collections::BTreeMap;

use crate::{
    arn::TaskId,
    catalog::{CheckStatus, HealthCheck, ServiceInstance},
    observed::Observed,
    phase::TaskPhase,
    task::MeshTask,
    token::ListedToken,
};

/// What was observed, by the ID of a task, in the order in which it was observed.
pub(super) struct ByTask<'a> {
    logins: BTreeMap<&'a TaskId, Vec<&'a ListedToken>>,
    instances: BTreeMap<&'a TaskId, Vec<&'a ServiceInstance>>,
    stopped: BTreeMap<&'a TaskId, Vec<&'a MeshTask>>,
    /// The critical checks, by the instance that they belong to.
    critical: BTreeMap<&'a str, Vec<&'a HealthCheck>>,
}

impl<'a> ByTask<'a> {
    pub(super) fn new(observed: &'a Observed) -> Self {
        let logins = observed.tokens.iter().filter_map(|token| Some((&token.login.as_ref()?.task, token)));
        let stopped = observed.tasks.iter().filter(|task| task.phase == TaskPhase::Stopped);
        let critical = observed.checks.iter().filter(|check| check.status == CheckStatus::Critical);
        Self {
            logins: group(logins),
            instances: group(observed.instances.iter().map(|instance| (&instance.task, instance))),
            stopped: group(stopped.map(|task| (task.arn.id(), task))),
            critical: group(critical.map(|check| (check.service_id.as_str(), check))),
        }
    }

    /// The login tokens of a task.
    pub(super) fn logins(&self, task: &MeshTask) -> impl Iterator<Item = &'a ListedToken> {
        let tokens = self.logins.get(task.arn.id()).into_iter().flatten().copied();
        tokens.filter(|token| token.login.as_ref().is_some_and(|login| login.is_of(task.arn.id(), &task.cluster)))
    }

    /// The instances of a task on the synthetic node of its cluster.
    pub(super) fn instances(&self, task: &MeshTask) -> impl Iterator<Item = &'a ServiceInstance> {
        let instances = self.instances.get(task.arn.id()).into_iter().flatten().copied();
        instances.filter(|instance| instance.node == task.cluster.as_str())
    }

    /// The stopped tasks with this ID: clusters of different accounts may have one each.
    pub(super) fn stopped(&self, id: &TaskId) -> impl Iterator<Item = &'a MeshTask> {
        self.stopped.get(id).into_iter().flatten().copied()
    }

    /// Whether this check is registered, and critical.
    pub(super) fn is_critical(&self, check: &HealthCheck) -> bool {
        self.critical.get(check.service_id.as_str()).is_some_and(|seen| seen.iter().any(|seen| seen.is_same_as(check)))
    }
}

fn group<K: Ord, V>(pairs: impl Iterator<Item = (K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut groups: BTreeMap<K, Vec<V>> = BTreeMap::new();
    for (key, value) in pairs {
        groups.entry(key).or_default().push(value);
    }
    groups
}
