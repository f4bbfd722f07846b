//! The plan: from what was seen to what has to be done. Pure, so that it can be read in one sitting and tested
//! through every interleaving.

use std::collections::BTreeMap;

use super::{
    arn::{ClusterArn, TaskArn},
    catalog::{CheckStatus, HealthCheck, ServiceInstance},
    identity::MeshService,
    phase::TaskPhase,
    secret_name::SecretNames,
    task::MeshTask,
    tenancy::Tenancy,
    token::{AccessorId, ListedToken, LoginMark, TokenHolder, is_service_token_of},
};

/// Who makes the tokens of starting tasks. It decides about creation only: cleaning up is the same in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenMode {
    /// The controller makes tokens and keeps them in Secrets Manager (consul-ecs 0.2 to 0.4).
    SecretsManager,
    /// Tasks log in through Consul's auth method (consul-ecs 0.5 and newer): nothing to make.
    AuthMethod,
}

/// What was seen of one scope: the same shape for a batch of events and for a whole cluster.
#[derive(Debug, Default)]
pub struct Observed {
    /// The mesh tasks of the scope.
    pub tasks: Vec<MeshTask>,
    /// Consul's tokens, where stopped tasks made it worth listing them.
    pub tokens: Vec<ListedToken>,
    /// Service instances of stopping and stopped tasks.
    pub instances: Vec<ServiceInstance>,
    /// Health checks of stopping tasks' instances.
    pub checks: Vec<HealthCheck>,
}

/// One change to bring about. Each may be done twice without harm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Make sure that the holder has a valid token, and that its secret holds it.
    Provision(TokenHolder),
    /// Make the check critical, so that traffic drains.
    MarkCritical(HealthCheck),
    /// Delete a token that a stopped task logged in for.
    DeleteLoginToken(ListedToken),
    /// Take a stopped task's instance out of the catalog, and its checks with it.
    Deregister(ServiceInstance),
    /// Look again after the grace period whether the service has any task left.
    CheckIdleness(MeshService),
}

/// An action, and the tasks that asked for it: if it fails, their messages go back to the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// What to do.
    pub action: Action,
    /// For whom.
    pub tasks: Vec<TaskArn>,
}

/// The rules of one deployment that the plan depends on.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// Who makes tokens.
    pub mode: TokenMode,
    /// The clusters that it looks after.
    pub clusters: &'a [ClusterArn],
    /// How secrets are named, from which accessor IDs derive.
    pub names: &'a SecretNames,
}

/// What has to be done about `observed`.
#[must_use]
pub fn plan(observed: &Observed, rules: Rules<'_>) -> Vec<Planned> {
    let mut planned = Vec::new();
    let mut wanted: BTreeMap<TokenHolder, Vec<TaskArn>> = BTreeMap::new();
    let mut left: BTreeMap<MeshService, Vec<TaskArn>> = BTreeMap::new();
    for task in &observed.tasks {
        match task.phase {
            TaskPhase::Active => {
                for holder in holders_for(task, rules.mode) {
                    wanted.entry(holder).or_default().push(task.arn.clone());
                }
            }
            TaskPhase::Stopping => planned.extend(drain(task, observed)),
            TaskPhase::Stopped => {
                planned.extend(clear(task, observed));
                if let Some(service) = revocable_service(task, observed, rules) {
                    left.entry(service).or_default().push(task.arn.clone());
                }
            }
        }
    }
    planned.extend(wanted.into_iter().map(|(holder, tasks)| Planned { action: Action::Provision(holder), tasks }));
    planned.extend(left.into_iter().map(|(service, tasks)| Planned { action: Action::CheckIdleness(service), tasks }));
    planned
}

/// Whose tokens a starting task needs. Gateways log in, whatever the mode.
fn holders_for(task: &MeshTask, mode: TokenMode) -> Vec<TokenHolder> {
    match &task.identity {
        Some(identity) if mode == TokenMode::SecretsManager && identity.gateway.is_none() => {
            let tenancy = match &identity.service.tenancy {
                Tenancy::Community => Tenancy::Community,
                Tenancy::Enterprise { partition, .. } => Tenancy::default_namespace_of(partition.clone()),
            };
            vec![TokenHolder::Client { tenancy }, TokenHolder::Service(identity.service.clone())]
        }
        _ => Vec::new(),
    }
}

fn instances_of<'a>(task: &'a MeshTask, observed: &'a Observed) -> impl Iterator<Item = &'a ServiceInstance> {
    observed.instances.iter().filter(|i| i.task == *task.arn.id() && i.node == task.cluster.as_str())
}

fn drain(task: &MeshTask, observed: &Observed) -> Vec<Planned> {
    let is_of_task = |check: &&HealthCheck| {
        instances_of(task, observed)
            .any(|i| i.node == check.node && i.id == check.service_id && i.tenancy == check.tenancy)
    };
    let alive = observed.checks.iter().filter(|check| check.status != CheckStatus::Critical);
    alive.filter(is_of_task).map(|check| for_task(task, Action::MarkCritical(check.clone()))).collect()
}

fn clear(task: &MeshTask, observed: &Observed) -> Vec<Planned> {
    let is_of_task = |token: &&ListedToken| {
        LoginMark::parse(&token.description)
            .is_some_and(|mark| mark.task == *task.arn.id() && task.cluster.is_meant_by(&mark.cluster))
    };
    let tokens = observed.tokens.iter().filter(is_of_task).cloned().map(Action::DeleteLoginToken);
    let instances = instances_of(task, observed).cloned().map(Action::Deregister);
    tokens.chain(instances).map(|action| for_task(task, action)).collect()
}

/// The task's service, if it may have a token that has to go once the service is idle.
///
/// In `secrets-manager` mode it may always have one: an event of the task's start may be at work just now.
fn revocable_service(task: &MeshTask, observed: &Observed, rules: Rules<'_>) -> Option<MeshService> {
    let service = &task.identity.as_ref()?.service;
    let derived = AccessorId::derived(&TokenHolder::Service(service.clone()), rules.names);
    let is_its = |token: &ListedToken| {
        token.accessor == derived || is_service_token_of(&token.description, service, rules.clusters)
    };
    let may_have_one = !holders_for(task, rules.mode).is_empty() || observed.tokens.iter().any(is_its);
    may_have_one.then(|| service.clone())
}

fn for_task(task: &MeshTask, action: Action) -> Planned {
    Planned { action, tasks: vec![task.arn.clone()] }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
