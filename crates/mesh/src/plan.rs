//! The plan: computes actions from the observed state. It is pure, so that property tests cover it.
//!
//! Batches of events and sweeps share one plan. A batch of events observes the tasks that changed. A sweep observes
//! every task of its clusters, and treats as stopped each task that Consul has an entry of and that ECS does not know
//! by its ARN. Both delete only entries of stopped tasks.

#[cfg(test)]
mod tests;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};

pub use self::tokens::{is_awaited, usage};
use crate::{
    action::{Action, Planned},
    arn::TaskArn,
    catalog::{AgentStatus, CheckStatus, ClientAgent, HealthCheck, LeftoverNode, ServiceInstance},
    idleness::{Idleness, TaskListing, judge},
    mark::is_token_of,
    observed::{Extent, Observed},
    phase::TaskPhase,
    rules::Rules,
    task::MeshTask,
    token::{ListedToken, TokenHolder},
};

/// The actions for `observed`.
#[must_use]
pub fn plan(observed: &Observed, rules: Rules<'_>) -> Vec<Planned> {
    let mut planned = Vec::new();
    let mut required: BTreeMap<TokenHolder, Vec<TaskArn>> = BTreeMap::new();
    let mut idle_candidates: BTreeMap<TokenHolder, Vec<TaskArn>> = BTreeMap::new();
    for task in &observed.tasks {
        match task.phase {
            TaskPhase::Active => {
                for holder in task.identity.iter().flat_map(|identity| rules.tokens().required(identity)) {
                    required.entry(holder).or_default().push(task.arn.clone());
                }
            }
            TaskPhase::Stopping => planned.extend(plan_stopping(task, observed)),
            TaskPhase::Stopped => {
                planned.extend(plan_stopped(task, observed));
                for holder in revocable_holders(task, observed, rules) {
                    idle_candidates.entry(holder).or_default().push(task.arn.clone());
                }
            }
        }
    }
    required.retain(|holder, _| !observed.provisioned.contains(holder));
    if let Extent::Clusters(listing) = &observed.extent {
        let actions = tokens::plan_tokens(observed, listing.as_ref(), &required, rules);
        planned.extend(actions.into_iter().map(|action| match action {
            // Replaces the creation of a new token.
            Action::ShowOrphan(holder, token) => {
                let tasks = required.remove(&holder).unwrap_or_default();
                Planned { action: Action::ShowOrphan(holder, token), tasks }
            }
            // A task that requires no token may read this one: in mode `auth-method`, or in a named version.
            Action::Provision(holder) => {
                Planned { tasks: user_of(&holder, listing.as_ref(), rules), action: Action::Provision(holder) }
            }
            action => without_tasks(action),
        }));
    }
    planned.extend(required.into_iter().map(|(holder, tasks)| Planned { action: Action::Provision(holder), tasks }));
    planned.extend(observed.agents.iter().filter_map(|agent| plan_agent(agent, observed)));
    if matches!(observed.extent, Extent::Events) {
        planned.extend(
            idle_candidates.into_iter().map(|(holder, tasks)| Planned { action: Action::CheckIdleness(holder), tasks }),
        );
    }
    let nodes = observed.leftover_nodes.iter().filter(|node| holds_only_stopped_tasks(node, &observed.tasks));
    planned.extend(nodes.map(|node| without_tasks(Action::DeregisterNode(node.clone()))));
    planned
}

fn instances_of<'a>(task: &'a MeshTask, observed: &'a Observed) -> impl Iterator<Item = &'a ServiceInstance> {
    observed.instances.iter().filter(|i| i.task == *task.arn.id() && i.node == task.cluster.as_str())
}

fn plan_stopping(task: &MeshTask, observed: &Observed) -> Vec<Planned> {
    // The containers' checks are not changed: a concurrent health sync would overwrite them.
    let is_missing = |check: &HealthCheck| {
        !observed.checks.iter().any(|seen| seen.is_same_as(check) && seen.status == CheckStatus::Critical)
    };
    let checks = instances_of(task, observed).map(HealthCheck::maintenance).filter(is_missing);
    checks.map(|check| for_task(task, Action::MarkCritical(check))).collect()
}

fn plan_stopped(task: &MeshTask, observed: &Observed) -> Vec<Planned> {
    let is_of_task =
        |token: &&ListedToken| token.login.as_ref().is_some_and(|login| login.is_of(task.arn.id(), &task.cluster));
    let tokens = observed.tokens.iter().filter(is_of_task).cloned().map(Action::DeleteLoginToken);
    let instances = instances_of(task, observed).cloned().map(Action::Deregister);
    tokens.chain(instances).map(|action| for_task(task, action)).collect()
}

/// The action for an agent: none, unless every service on its node belongs to a stopped task, by its full ARN.
fn plan_agent(agent: &ClientAgent, observed: &Observed) -> Option<Planned> {
    let hosts_others = !agent.node.others.is_empty() || agent.node.is_synthetic;
    let mut tasks = BTreeSet::new();
    for instance in &agent.node.instances {
        let belongs = |task: &&MeshTask| {
            task.phase == TaskPhase::Stopped
                && task.arn.id() == &instance.task
                && instance.task_arn.as_ref() == Some(&task.arn)
        };
        tasks.insert(observed.tasks.iter().find(belongs)?.arn.clone());
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

/// Whether every service on a synthetic node belongs to a stopped task, whose services the same plan deregisters.
fn holds_only_stopped_tasks(leftover: &LeftoverNode, tasks: &[MeshTask]) -> bool {
    let is_of_stopped = |instance: &ServiceInstance| {
        let belongs = |task: &MeshTask| task.cluster == leftover.cluster && *task.arn.id() == instance.task;
        tasks.iter().any(|task| task.phase == TaskPhase::Stopped && belongs(task))
    };
    let node = &leftover.node;
    node.is_synthetic && node.others.is_empty() && node.instances.iter().all(is_of_stopped)
}

/// The holders whose tokens a stopped task may have used, if there may be such a token to revoke.
///
/// If tasks of the definition require one, there always may be: the event of the task's start may be processed
/// concurrently.
fn revocable_holders(task: &MeshTask, observed: &Observed, rules: Rules<'_>) -> Vec<TokenHolder> {
    let Some(identity) = &task.identity else { return Vec::new() };
    let required = rules.tokens().required(identity);
    let mut used = rules.tokens().used(identity);
    used.retain(|holder| {
        let belongs = |token: &ListedToken| is_token_of(&token.description, holder, rules.clusters);
        required.contains(holder) || observed.tokens.iter().any(belongs)
    });
    used
}

/// A task that may use the holder's token, if there is one.
fn user_of(holder: &TokenHolder, listing: Option<&TaskListing>, rules: Rules<'_>) -> Vec<TaskArn> {
    match listing.map(|listing| judge(holder, listing, rules)) {
        Some(Idleness::Living(task)) => vec![task],
        _ => Vec::new(),
    }
}

fn for_task(task: &MeshTask, action: Action) -> Planned {
    Planned { action, tasks: vec![task.arn.clone()] }
}

fn without_tasks(action: Action) -> Planned {
    Planned { action, tasks: Vec::new() }
}
