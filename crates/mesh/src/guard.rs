//! The guard: a sweep that would delete too much of a cluster at once stops there, and waits for a person.
//!
//! A wrong region, a half answer of ECS, a bug: whatever makes a sweep see too little makes it want to delete too much.

use std::collections::BTreeSet;

use super::{
    action::{Action, Planned},
    arn::ClusterArn,
    catalog::{ClientAgent, ServiceInstance},
    mark::{HolderMark, LoginMark},
    observed::Observed,
    phase::TaskPhase,
    task::MeshTask,
    token::ListedToken,
};

/// A mesh smaller than this changes by large shares every day.
const SMALL: usize = 10;

/// A task registers its service and its sidecar proxy.
const SERVICES_OF_A_TASK: usize = 2;

/// The largest share of a cluster's tokens, or of its services, that one sweep may delete, in per cent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxDeletePercent(u8);

impl MaxDeletePercent {
    /// From 0 (nothing of a mesh of ten or more) to 100 (no limit).
    #[must_use]
    pub fn new(percent: u8) -> Option<Self> {
        (percent <= 100).then_some(Self(percent))
    }

    fn is_exceeded_by(self, deleted: usize, owned: usize) -> bool {
        owned >= SMALL && deleted * 100 > owned * usize::from(self.0)
    }
}

/// Why the guard holds a cluster's deletions back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Alarm {
    /// The plan takes away too large a share.
    #[error("the plan deletes {deleted} of {owned} {what}, more than MaxDeletePercent ({percent} %)")]
    TooMany {
        /// `tokens` or `services`.
        what: &'static str,
        /// How many it would delete.
        deleted: usize,
        /// How many there are.
        owned: usize,
        /// The limit.
        percent: u8,
    },
    /// ECS lists no task at all, but Consul knows of some.
    #[error("ECS lists no task of the cluster, but Consul holds {owned} tokens and services of it")]
    NothingListed {
        /// How many things of the cluster Consul holds.
        owned: usize,
    },
}

/// Whether `planned` may be carried out in `cluster`, of which ECS listed `listed` tasks.
///
/// # Errors
/// Why it may not, without a person's word.
pub fn check(
    planned: &[Planned],
    observed: &Observed,
    cluster: &ClusterArn,
    listed: usize,
    limit: MaxDeletePercent,
) -> Result<(), Alarm> {
    let is_owned = |token: &&ListedToken| owner(token, cluster).is_some();
    let mut tokens: Vec<&ListedToken> = observed.tokens.iter().filter(is_owned).collect();
    // The default partition may have been listed twice: by its name, and without one.
    tokens.sort_by_key(|token| token.accessor);
    tokens.dedup_by_key(|token| token.accessor);
    let on_the_node = observed.instances.iter().filter(|instance| instance.node == cluster.as_str()).count();
    let found = on_the_node + observed.agents.iter().map(|agent| instances_of(agent, cluster)).sum::<usize>();
    let used = tokens.iter().filter(|token| owner(token, cluster) == Some(Owner::Task)).count() + found;
    if listed == 0 && used > 0 {
        return Err(Alarm::NothingListed { owned: used });
    }
    let services = found + services_of_living_agents(observed, cluster);
    let percent = limit.0;
    let deleted = deleted_tokens(planned, &tokens);
    if limit.is_exceeded_by(deleted, tokens.len()) {
        return Err(Alarm::TooMany { what: "tokens", deleted, owned: tokens.len(), percent });
    }
    let deleted = planned.iter().map(|planned| deleted_services(&planned.action, cluster)).sum();
    if limit.is_exceeded_by(deleted, services) {
        return Err(Alarm::TooMany { what: "services", deleted, owned: services, percent });
    }
    Ok(())
}

/// Whether an action takes something of `cluster` away, or rests on what was read of it: a service is idle only if no
/// cluster has a task of it.
#[must_use]
pub fn concerns(action: &Action, cluster: &ClusterArn) -> bool {
    match action {
        Action::DeleteLoginToken(token) => owner(token, cluster).is_some(),
        Action::Deregister(instance) => instance.node == cluster.as_str(),
        Action::ForceLeave(agent) => instances_of(agent, cluster) > 0,
        Action::DeregisterNode(node) => node.cluster == *cluster,
        Action::Hide(..) | Action::Revoke(..) | Action::DeleteOrphan(..) => true,
        Action::Provision(_)
        | Action::MarkCritical(_)
        | Action::AwaitAgent(_)
        | Action::CheckIdleness(_)
        | Action::ShowOrphan(..) => false,
    }
}

/// How many services of the cluster's tasks an agent's node holds.
fn instances_of(agent: &ClientAgent, cluster: &ClusterArn) -> usize {
    let belongs = |instance: &&ServiceInstance| instance.task_arn.as_ref().is_some_and(|arn| arn.is_in(cluster));
    agent.node.instances.iter().filter(belongs).count()
}

/// The services on the nodes of living tasks' own agents. Those nodes are not read: what is there is known from ECS.
fn services_of_living_agents(observed: &Observed, cluster: &ClusterArn) -> usize {
    let has_agent =
        |task: &&MeshTask| task.runs_client_agent && task.phase != TaskPhase::Stopped && task.cluster == *cluster;
    observed.tasks.iter().filter(has_agent).count() * SERVICES_OF_A_TASK
}

fn deleted_services(action: &Action, cluster: &ClusterArn) -> usize {
    match action {
        Action::Deregister(instance) => usize::from(instance.node == cluster.as_str()),
        // Everything on the agent's node goes with it.
        Action::ForceLeave(agent) => instances_of(agent, cluster),
        _ => 0,
    }
}

fn deleted_tokens(planned: &[Planned], owned: &[&ListedToken]) -> usize {
    let mut deleted = BTreeSet::new();
    for planned in planned {
        match &planned.action {
            Action::DeleteLoginToken(token) | Action::DeleteOrphan(_, token, _) => {
                deleted.extend(owned.iter().filter(|o| o.accessor == token.accessor).map(|o| o.accessor));
            }
            // Hidden counts as deleted: no further task of the service can start.
            Action::Hide(service, _) | Action::Revoke(service, _) => {
                let belongs = |token: &&&ListedToken| {
                    token.tenancy.is_same_place(&service.tenancy)
                        && HolderMark::parse(&token.description)
                            .is_some_and(|mark| mark.service.as_ref() == Some(&service.name))
                };
                deleted.extend(owned.iter().filter(belongs).map(|o| o.accessor));
            }
            _ => {}
        }
    }
    deleted.len()
}

/// Which task a token of a cluster is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// A task has logged in for it, or has used it.
    Task,
    /// No task yet: the token was pre-provisioned.
    PreProvisioned,
}

fn owner(token: &ListedToken, cluster: &ClusterArn) -> Option<Owner> {
    if LoginMark::parse(&token.description).is_some_and(|mark| cluster.is_meant_by(&mark.cluster)) {
        return Some(Owner::Task);
    }
    let mark = HolderMark::parse(&token.description)?;
    let is_ours = mark.service.is_some() && cluster.is_meant_by(&mark.cluster);
    is_ours.then_some(if mark.unused_since.is_some() { Owner::PreProvisioned } else { Owner::Task })
}

#[cfg(test)]
mod tests;
