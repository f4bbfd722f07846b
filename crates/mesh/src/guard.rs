//! The guard: a sweep that would delete more than a share of a cluster's tokens or services deletes nothing of it until
//! an operator forces it.
//!
//! An incomplete view, because of a wrong region, an incomplete answer of ECS or a defect, makes a sweep plan too many
//! deletions.

pub mod corrections;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    action::{Action, Planned},
    arn::ClusterArn,
    catalog::{ClientAgent, ServiceInstance},
    mark::HolderMark,
    observed::Observed,
    phase::TaskPhase,
    service_name::ServiceName,
    task::MeshTask,
    token::{AccessorId, ListedToken},
};

/// The smallest number of tokens or services to which the share applies.
const MIN_OBJECTS: usize = 10;

/// A task registers a service and its sidecar proxy.
const SERVICES_OF_A_TASK: usize = 2;

/// The largest share of a cluster's tokens, or of its services, that one sweep may delete, in per cent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxDeletePercent(u8);

impl MaxDeletePercent {
    /// From 0 (no deletion where there are ten or more) to 100 (no limit).
    #[must_use]
    pub fn new(percent: u8) -> Option<Self> {
        (percent <= 100).then_some(Self(percent))
    }

    fn is_exceeded_by(self, deleted: usize, owned: usize) -> bool {
        owned >= MIN_OBJECTS && deleted * 100 > owned * usize::from(self.0)
    }
}

/// Why the guard stops the deletions of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Alarm {
    /// The plan deletes too large a share.
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
    /// ECS lists no task, but Consul has tokens or services of tasks.
    #[error("ECS lists no task of the cluster, but Consul holds {owned} tokens and services of it")]
    NothingListed {
        /// How many of them Consul has.
        owned: usize,
    },
}

/// Whether the deletions of `planned` are allowed in `cluster`, of which ECS listed `listed` tasks.
///
/// # Errors
/// They are not allowed unless an operator forces them.
pub fn check(
    planned: &[Planned],
    observed: &Observed,
    cluster: &ClusterArn,
    listed: usize,
    limit: MaxDeletePercent,
) -> Result<(), Alarm> {
    let is_owned = |token: &&ListedToken| owner(token, cluster).is_some();
    let mut tokens: Vec<&ListedToken> = observed.tokens.iter().filter(is_owned).collect();
    // The default partition may have been listed twice: with its name and without one.
    tokens.sort_by_key(|token| token.accessor);
    tokens.dedup_by_key(|token| token.accessor);
    let on_the_node = observed.instances.iter().filter(|instance| instance.node == cluster.as_str()).count();
    let found = on_the_node + observed.agents.iter().map(|agent| instances_of(agent, cluster)).sum::<usize>();
    let used = tokens.iter().filter(|token| owner(token, cluster) == Some(Owner::Task)).count() + found;
    if listed == 0 && used > 0 {
        return Err(Alarm::NothingListed { owned: used });
    }
    let services = found + services_on_unread_nodes(observed, cluster);
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

/// Whether an action deletes something of `cluster`, or depends on what was read of it: a service is idle only if no
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
        | Action::MarkCritical(..)
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

/// The services on the nodes of client agents in running tasks. Those nodes are not read: the number follows from the
/// tasks.
fn services_on_unread_nodes(observed: &Observed, cluster: &ClusterArn) -> usize {
    let has_agent =
        |task: &&MeshTask| task.runs_client_agent && task.phase != TaskPhase::Stopped && task.cluster == *cluster;
    observed.tasks.iter().filter(has_agent).count() * SERVICES_OF_A_TASK
}

fn deleted_services(action: &Action, cluster: &ClusterArn) -> usize {
    match action {
        Action::Deregister(instance) => usize::from(instance.node == cluster.as_str()),
        // Force-leave removes the node with all its services.
        Action::ForceLeave(agent) => instances_of(agent, cluster),
        _ => 0,
    }
}

fn deleted_tokens(planned: &[Planned], owned: &[&ListedToken]) -> usize {
    let accessors: BTreeSet<AccessorId> = owned.iter().map(|token| token.accessor).collect();
    let by_service = tokens_by_service(owned);
    let mut deleted = BTreeSet::new();
    for planned in planned {
        match &planned.action {
            Action::DeleteLoginToken(token) | Action::DeleteOrphan(_, token, _) => {
                deleted.extend(accessors.get(&token.accessor));
            }
            // A hidden token counts as deleted: no further task of the service can start.
            Action::Hide(holder, _) | Action::Revoke(holder, _) => {
                let name = holder.service().map(|service| service.name.clone());
                let tokens = by_service.get(&name).into_iter().flatten();
                let belongs = |token: &&&ListedToken| token.tenancy.is_same_place(holder.tenancy());
                deleted.extend(tokens.filter(belongs).map(|token| token.accessor));
            }
            _ => {}
        }
    }
    deleted.len()
}

/// The tokens that a controller created, by service.
fn tokens_by_service<'a>(tokens: &[&'a ListedToken]) -> BTreeMap<Option<ServiceName>, Vec<&'a ListedToken>> {
    let mut by_service: BTreeMap<_, Vec<&ListedToken>> = BTreeMap::new();
    for token in tokens {
        if let Some(mark) = HolderMark::parse(&token.description) {
            by_service.entry(mark.service).or_default().push(token);
        }
    }
    by_service
}

/// Which task a token of a cluster is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// A task logged in for the token, or has used it.
    Task,
    /// No task yet: the token was pre-provisioned.
    PreProvisioned,
}

fn owner(token: &ListedToken, cluster: &ClusterArn) -> Option<Owner> {
    if token.login.as_ref().is_some_and(|login| cluster.is_named_by(&login.cluster)) {
        return Some(Owner::Task);
    }
    let mark = HolderMark::parse(&token.description)?;
    let is_ours = mark.service.is_some() && cluster.is_named_by(&mark.cluster);
    is_ours.then_some(if mark.unused_since.is_some() { Owner::PreProvisioned } else { Owner::Task })
}

#[cfg(test)]
mod tests;
