//! The plan: from what was seen to what has to be done. Pure, so that it can be read in one sitting and tested
//! through every interleaving.
//!
//! One plan serves both scopes. A batch of events observes the tasks that changed; a sweep observes every task of its
//! clusters, and counts as stopped whatever Consul mentions and ECS, asked by name, does not know. Either way only what
//! belongs to a stopped task is deleted.

use std::collections::{BTreeMap, BTreeSet};

use std::time::Duration;

use jiff::Timestamp;

use super::{
    arn::{ClusterArn, TaskArn},
    bounds::Bounds,
    catalog::{AgentStatus, CheckStatus, ClientAgent, HealthCheck, LeftoverNode, ServiceInstance},
    identity::{MeshIdentity, MeshService},
    idleness::{GracePeriod, TaskListing},
    lifecycle::Idle,
    mark::{LoginMark, is_token_of},
    phase::TaskPhase,
    secret::{Retirement, StoredSecret, Trigger},
    secret_name::SecretNames,
    task::MeshTask,
    token::{ListedToken, TokenHolder},
    token_plan,
};

/// Who makes the tokens of starting tasks. It decides about creation only: cleaning up is the same in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenMode {
    /// The controller makes tokens and keeps them in Secrets Manager (consul-ecs 0.2 to 0.4).
    SecretsManager,
    /// Tasks log in through Consul's auth method (consul-ecs 0.5 and newer): nothing to make.
    AuthMethod,
}

/// What was seen of one scope: the same shape for a batch of events and for whole clusters.
#[derive(Debug, Default, Clone)]
pub struct Observed {
    /// The mesh tasks of the scope.
    pub tasks: Vec<MeshTask>,
    /// Consul's tokens, where it was worth listing them.
    pub tokens: Vec<ListedToken>,
    /// Service instances of stopping and stopped tasks on synthetic nodes; in a sweep, of all tasks.
    pub instances: Vec<ServiceInstance>,
    /// Health checks of stopping tasks' instances.
    pub checks: Vec<HealthCheck>,
    /// Consul client agents that may have belonged to stopped tasks.
    pub agents: Vec<ClientAgent>,
    /// Synthetic nodes of clusters that ECS has deleted.
    pub leftover_nodes: Vec<LeftoverNode>,
    /// Holders whose tokens are known to be good.
    pub provisioned: BTreeSet<TokenHolder>,
    /// In a sweep, the secrets of the services that need a token or have one.
    pub secrets: BTreeMap<TokenHolder, StoredSecret>,
    /// How far the look reached.
    pub extent: Extent,
}

/// How far a look reached.
#[derive(Debug, Default, Clone)]
pub enum Extent {
    /// To the tasks of a batch of events: whether a service is idle takes a later look.
    #[default]
    Events,
    /// To whole clusters. The listing is that of every cluster of the deployment, and `None` if they could not all be
    /// read: only who has seen all of them may call a service idle.
    Clusters(Option<TaskListing>),
}

/// One change to bring about. Each may be done twice without harm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Make sure that the holder has a valid token, and that its secret holds it.
    Provision(TokenHolder),
    /// Register the critical check for an instance, so that traffic drains.
    MarkCritical(HealthCheck),
    /// Delete a token that a stopped task logged in for.
    DeleteLoginToken(ListedToken),
    /// Take a stopped task's instance out of the catalog, and its checks with it.
    Deregister(ServiceInstance),
    /// Make Consul forget a client agent that died with its task.
    ForceLeave(ClientAgent),
    /// Come back later: the stopped task's client agent is not known to be dead yet.
    AwaitAgent(ClientAgent),
    /// Take the synthetic node of a deleted cluster out of the catalog.
    DeregisterNode(LeftoverNode),
    /// Look again after the grace period whether the service has any task left.
    CheckIdleness(MeshService),
    /// Hide the token of an idle service.
    Hide(MeshService, Idle),
    /// Delete the token of an idle service, which has been hidden for long enough.
    Revoke(MeshService, Idle),
    /// Delete a token that bears the controller's mark, and that its secret does not name.
    DeleteOrphan(TokenHolder, ListedToken, Retirement),
    /// Show such a token in its secret, which a person has emptied.
    ShowOrphan(TokenHolder, ListedToken),
}

impl Action {
    /// Whether it takes something away for good.
    #[must_use]
    pub fn deletes(&self) -> bool {
        match self {
            Self::DeleteLoginToken(_)
            | Self::Deregister(_)
            | Self::ForceLeave(_)
            | Self::DeregisterNode(_)
            | Self::Hide(..)
            | Self::Revoke(..)
            | Self::DeleteOrphan(..) => true,
            Self::Provision(_)
            | Self::MarkCritical(_)
            | Self::AwaitAgent(_)
            | Self::CheckIdleness(_)
            | Self::ShowOrphan(..) => false,
        }
    }
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
    /// How secrets are named.
    pub names: &'a SecretNames,
    /// How long an idle service keeps its token.
    pub grace: GracePeriod,
    /// What is assumed of time.
    pub bounds: &'a Bounds,
    /// How long a token that was made ahead waits for its service's first task.
    pub unused_for: Duration,
    /// What a revocation would be triggered by.
    pub trigger: Trigger,
    /// The time of day.
    pub now: Timestamp,
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
                for holder in holders_for(task.identity.as_ref(), rules.mode) {
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
    wanted.retain(|holder, _| !observed.provisioned.contains(holder));
    if let Extent::Clusters(listing) = &observed.extent {
        let actions = token_plan::plan_tokens(observed, listing.as_ref(), &wanted, rules);
        planned.extend(actions.into_iter().map(|action| match action {
            // Instead of a new one.
            Action::ShowOrphan(holder, token) => {
                let tasks = wanted.remove(&holder).unwrap_or_default();
                Planned { action: Action::ShowOrphan(holder, token), tasks }
            }
            action => unasked(action),
        }));
    }
    planned.extend(wanted.into_iter().map(|(holder, tasks)| Planned { action: Action::Provision(holder), tasks }));
    planned.extend(observed.agents.iter().filter_map(|agent| forget_agent(agent, observed)));
    if matches!(observed.extent, Extent::Events) {
        planned
            .extend(left.into_iter().map(|(service, tasks)| Planned { action: Action::CheckIdleness(service), tasks }));
    }
    let nodes = observed.leftover_nodes.iter().filter(|node| is_left_alone(node, &observed.tasks));
    planned.extend(nodes.map(|node| unasked(Action::DeregisterNode(node.clone()))));
    planned
}

/// Whose tokens a starting task needs. Gateways log in, whatever the mode.
#[must_use]
pub fn holders_for(identity: Option<&MeshIdentity>, mode: TokenMode) -> Vec<TokenHolder> {
    match identity {
        Some(identity) if mode == TokenMode::SecretsManager && identity.gateway.is_none() => {
            let tenancy = identity.service.tenancy.home();
            vec![TokenHolder::Client { tenancy }, TokenHolder::Service(identity.service.clone())]
        }
        _ => Vec::new(),
    }
}

fn instances_of<'a>(task: &'a MeshTask, observed: &'a Observed) -> impl Iterator<Item = &'a ServiceInstance> {
    observed.instances.iter().filter(|i| i.task == *task.arn.id() && i.node == task.cluster.as_str())
}

fn drain(task: &MeshTask, observed: &Observed) -> Vec<Planned> {
    // The containers' checks stay as they are: a health sync that has read them before would write them back.
    let is_missing = |check: &HealthCheck| {
        !observed.checks.iter().any(|seen| seen.is_same_as(check) && seen.status == CheckStatus::Critical)
    };
    let checks = instances_of(task, observed).map(HealthCheck::maintenance).filter(is_missing);
    checks.map(|check| for_task(task, Action::MarkCritical(check))).collect()
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

/// What to do about an agent: nothing, unless all that its node holds is of stopped tasks, by their whole ARNs.
fn forget_agent(agent: &ClientAgent, observed: &Observed) -> Option<Planned> {
    let hosts_others = !agent.node.others.is_empty() || agent.node.is_synthetic;
    let mut tasks = BTreeSet::new();
    for instance in &agent.node.instances {
        let is_its = |task: &&MeshTask| {
            task.phase == TaskPhase::Stopped
                && task.arn.id() == &instance.task
                && instance.task_arn.as_ref() == Some(&task.arn)
        };
        tasks.insert(observed.tasks.iter().find(is_its)?.arn.clone());
    }
    if hosts_others || tasks.is_empty() {
        return None;
    }
    let action = match agent.member.status {
        AgentStatus::Failed => Action::ForceLeave(agent.clone()),
        AgentStatus::Alive if matches!(observed.extent, Extent::Events) => Action::AwaitAgent(agent.clone()),
        AgentStatus::Alive | AgentStatus::Left => return None,
    };
    Some(Planned { action, tasks: tasks.into_iter().collect() })
}

/// Whether all that a synthetic node holds is of stopped tasks, which lose it by the same plan.
fn is_left_alone(leftover: &LeftoverNode, tasks: &[MeshTask]) -> bool {
    let is_of_stopped = |instance: &ServiceInstance| {
        let is_its = |task: &MeshTask| task.cluster == leftover.cluster && *task.arn.id() == instance.task;
        tasks.iter().any(|task| task.phase == TaskPhase::Stopped && is_its(task))
    };
    let node = &leftover.node;
    node.is_synthetic && node.others.is_empty() && node.instances.iter().all(is_of_stopped)
}

/// The task's service, if it may have a token that has to go once the service is idle.
///
/// In `secrets-manager` mode it may always have one: an event of the task's start may be at work just now.
fn revocable_service(task: &MeshTask, observed: &Observed, rules: Rules<'_>) -> Option<MeshService> {
    let service = &task.identity.as_ref()?.service;
    let holder = TokenHolder::Service(service.clone());
    let is_its = |token: &ListedToken| is_token_of(&token.description, &holder, rules.clusters);
    let may_have_one =
        !holders_for(task.identity.as_ref(), rules.mode).is_empty() || observed.tokens.iter().any(is_its);
    may_have_one.then(|| service.clone())
}

fn for_task(task: &MeshTask, action: Action) -> Planned {
    Planned { action, tasks: vec![task.arn.clone()] }
}

fn unasked(action: Action) -> Planned {
    Planned { action, tasks: Vec::new() }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
