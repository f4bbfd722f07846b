//! The plan: computes actions from the observed state. It is pure, so that property tests cover it.
//!
//! Batches of events and sweeps share one plan. A batch of events observes the tasks that changed. A sweep observes
//! every task of its clusters, and treats as stopped each task that Consul has an entry of and that ECS does not know
//! by its ARN. Both delete only entries of stopped tasks.

mod by_task;
mod needed_tokens;
#[cfg(test)]
mod tests;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};

use self::by_task::ByTask;
pub use self::{
    needed_tokens::NeededTokens,
    tokens::{WaitingToken, is_awaited, usage, waiting_tokens},
};
use crate::{
    action::{Action, Planned},
    arn::TaskArn,
    catalog::{AgentStatus, ClientAgent, HealthCheck, LeftoverNode, ServiceInstance},
    idleness::{Idleness, TaskListing, judge},
    mark::is_token_of,
    observed::{Extent, Observed},
    phase::TaskPhase,
    rules::Rules,
    task::MeshTask,
    token::TokenHolder,
};

/// The actions for `observed`.
pub fn plan(observed: &Observed, rules: Rules<'_>) -> Vec<Planned> {
    let mut planned = Vec::new();
    let by_task = ByTask::new(observed);
    let is_for_events = matches!(observed.extent, Extent::Events);
    let mut required: BTreeMap<TokenHolder, Vec<TaskArn>> = BTreeMap::new();
    let mut idle_candidates: BTreeMap<TokenHolder, Vec<TaskArn>> = BTreeMap::new();
    for task in &observed.tasks {
        planned.extend(plan_drain(task, &by_task));
        match task.phase {
            TaskPhase::Active => {
                for holder in task.identity.iter().flat_map(|identity| rules.tokens().required(identity)) {
                    required.entry(holder).or_default().push(task.arn.clone());
                }
            }
            TaskPhase::Stopping => {}
            TaskPhase::Stopped => {
                planned.extend(plan_stopped(task, &by_task));
                // In a sweep, the listing of every task decides whether a service is idle.
                for holder in is_for_events.then(|| revocable_holders(task, observed, rules)).into_iter().flatten() {
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
                let tasks = required.remove(&holder);
                let tasks = tasks.unwrap_or_else(|| user_of(&holder, listing.as_ref(), rules));
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
    planned.extend(observed.agents.iter().filter_map(|agent| plan_agent(agent, &by_task, is_for_events)));
    planned.extend(
        idle_candidates.into_iter().map(|(holder, tasks)| Planned { action: Action::CheckIdleness(holder), tasks }),
    );
    let nodes = observed.leftover_nodes.iter().filter(|node| holds_only_stopped_tasks(node, &by_task));
    planned.extend(nodes.map(|node| without_tasks(Action::DeregisterNode(node.clone()))));
    planned
}

fn plan_drain(task: &MeshTask, by_task: &ByTask<'_>) -> Vec<Planned> {
    let Some(reason) = task.drain_reason() else { return Vec::new() };
    // The containers' checks are not changed: a concurrent health sync would overwrite them.
    let is_drained = |instance: &&ServiceInstance| by_task.is_critical(&HealthCheck::maintenance(instance, reason));
    let instances = by_task.instances(task).filter(|instance| !is_drained(instance));
    instances.map(|instance| for_task(task, Action::MarkCritical(instance.clone(), reason))).collect()
}

fn plan_stopped(task: &MeshTask, by_task: &ByTask<'_>) -> Vec<Planned> {
    let tokens = by_task.logins(task).cloned().map(Action::DeleteLoginToken);
    let instances = by_task.instances(task).cloned().map(Action::Deregister);
    tokens.chain(instances).map(|action| for_task(task, action)).collect()
}

/// The action for an agent: none, unless every service on its node belongs to a stopped task, by its full ARN.
fn plan_agent(agent: &ClientAgent, by_task: &ByTask<'_>, is_for_events: bool) -> Option<Planned> {
    let hosts_others = !agent.node.others.is_empty() || agent.node.is_synthetic;
    let mut tasks = BTreeSet::new();
    for instance in &agent.node.instances {
        let belongs = |task: &&MeshTask| instance.task_arn.as_ref() == Some(&task.arn);
        tasks.insert(by_task.stopped(&instance.task).find(belongs)?.arn.clone());
    }
    if hosts_others || tasks.is_empty() {
        return None;
    }
    let action = match agent.member.status {
        AgentStatus::Failed => Action::ForceLeave(agent.clone()),
        AgentStatus::Alive if is_for_events => Action::AwaitAgent(agent.clone()),
        AgentStatus::Alive | AgentStatus::Left => return None,
    };
    Some(Planned { action, tasks: tasks.into_iter().collect() })
}

/// Whether every service on a synthetic node belongs to a stopped task, whose services the same plan deregisters.
fn holds_only_stopped_tasks(leftover: &LeftoverNode, by_task: &ByTask<'_>) -> bool {
    let is_of_stopped =
        |instance: &ServiceInstance| by_task.stopped(&instance.task).any(|task| task.cluster == leftover.cluster);
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
        let is_held = || observed.tokens.iter().any(|token| is_token_of(&token.description, holder, rules.clusters));
        required.contains(holder) || is_held()
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
