//! The plan: computes actions from the observed state. It is pure, so that property tests cover it.
//!
//! Batches of events and sweeps share one plan. A batch of events observes the tasks that changed. A sweep observes
//! every task of its clusters, and treats as stopped each task that Consul has an entry of and that ECS does not know
//! by its ARN. Both delete only entries of stopped tasks.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    arn::{ClusterArn, TaskArn, TaskId},
    catalog::{AgentStatus, CheckStatus, ClientAgent, DrainReason, HealthCheck, LeftoverNode, ServiceInstance},
    holder::TokenHolder,
    host::Host,
    idleness::TaskListing,
    lifecycle::Idle,
    mark::LoginMark,
    repair::Difference,
    secret::{Retirement, StoredSecret},
    settings::PlanSettings,
    task::{MeshTask, TaskPhase},
    tenancy::Tenancy,
    token::ListedToken,
};

/// How many tasks of a cluster ECS counts, and how many of them it lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskCounts {
    /// The running and pending tasks that `DescribeClusters` counts.
    pub counted: usize,
    /// The tasks that are listed, that were created before that call, and that are running or pending.
    pub listed: usize,
    /// The running and pending tasks that are listed and may be younger than that call.
    pub young: usize,
}

impl TaskCounts {
    /// Whether the listing has as many tasks as ECS counts. No task proves nothing: so does a cluster in another region
    /// look.
    pub fn is_complete(self) -> bool {
        self.counted > 0 && self.listed >= self.counted
    }

    /// How many tasks ECS counts and does not list.
    pub fn unlisted(self) -> usize {
        self.counted.saturating_sub(self.listed + self.young)
    }
}

#[cfg(test)]
mod tests;
mod tokens;

pub use self::tokens::{NeededTokens, WaitingToken, is_awaited, waiting_tokens};

/// The actions for `observed`.
pub fn plan(observed: &Observed, settings: PlanSettings<'_>) -> Vec<Planned> {
    let mut planned = Vec::new();
    let by_task = ByTask::new(observed);
    let is_for_events = matches!(observed.coverage, Coverage::Events);
    let (mut required, mut idle_candidates) = (Holders::new(), Holders::new());
    for task in &observed.tasks {
        planned.extend(plan_drain(task, &by_task));
        planned.extend(plan_end_of_drain(task, &by_task));
        match task.phase {
            TaskPhase::Active => {
                for holder in task.identity.iter().flat_map(|identity| settings.tokens().required(identity)) {
                    required.entry(holder).or_default().push(task);
                }
            }
            TaskPhase::Stopping | TaskPhase::Unknown => {}
            TaskPhase::Stopped => {
                planned.extend(plan_stopped(task, &by_task));
                // In a sweep, the listing of every task decides whether a service is idle.
                for holder in is_for_events.then(|| revocable_holders(task, observed, settings)).into_iter().flatten() {
                    idle_candidates.entry(holder).or_default().push(task);
                }
            }
        }
    }
    required.retain(|holder, _| !observed.provisioned.contains(holder) && !observed.faulty.contains(holder));
    if let Coverage::Clusters(listing) = &observed.coverage {
        planned.extend(tokens::plan_tokens(observed, listing.as_ref(), &mut required, settings));
    }
    planned.extend(for_holders(required, Action::Provision));
    planned.extend(observed.agents.iter().filter_map(|agent| plan_agent(agent, &by_task, is_for_events)));
    planned.extend(for_holders(idle_candidates, Action::CheckIdleness));
    let nodes = observed.leftover_nodes.iter().filter(|node| holds_only_stopped_tasks(node, &by_task));
    planned.extend(nodes.map(|node| Planned {
        action: Action::DeregisterNode(node.clone()),
        cluster: node.cluster.clone(),
        tasks: Vec::new(),
    }));
    planned
}

/// The tasks that an action for a holder is for.
type Holders<'a> = BTreeMap<TokenHolder, Vec<&'a MeshTask>>;

fn for_holders(holders: Holders<'_>, action: fn(TokenHolder) -> Action) -> impl Iterator<Item = Planned> {
    holders.into_iter().filter_map(move |(holder, tasks)| {
        let cluster = tasks.iter().map(|task| &task.cluster).min()?.clone();
        Some(Planned { action: action(holder), cluster, tasks: tasks.iter().map(|task| task.arn.clone()).collect() })
    })
}

fn plan_drain(task: &MeshTask, by_task: &ByTask<'_>) -> Vec<Planned> {
    let Some(reason) = task.drain_reason() else { return Vec::new() };
    // The containers' checks are not changed: a concurrent health sync would overwrite them.
    let is_drained = |instance: &&ServiceInstance| by_task.is_drained(instance, reason);
    let instances = by_task.instances(task).filter(|instance| !is_drained(instance));
    instances.map(|instance| for_task(task, Action::MarkCritical(instance.clone(), reason))).collect()
}

/// Ends the drain of a task whose host was gone and runs again, with the task: a hibernated instance was started. No other drain
/// ends before its task.
fn plan_end_of_drain(task: &MeshTask, by_task: &ByTask<'_>) -> Vec<Planned> {
    if task.phase != TaskPhase::Active || task.host != Host::Running || task.drain_reason().is_some() {
        return Vec::new();
    }
    let checks = by_task.instances(task).flat_map(|instance| {
        let is_its = |check: &&&HealthCheck| check.node == instance.node && check.tenancy == instance.tenancy;
        by_task.critical.get(instance.id.as_str()).into_iter().flatten().filter(is_its)
    });
    let ended = checks.filter(|check| check.drains_for_gone_host());
    ended.map(|check| for_task(task, Action::EndDrain((*check).clone()))).collect()
}

fn plan_stopped(task: &MeshTask, by_task: &ByTask<'_>) -> Vec<Planned> {
    let tokens = by_task.logins(task).cloned().map(Action::DeleteLoginToken);
    let instances = by_task.instances(task).cloned().map(Action::Deregister);
    tokens.chain(instances).map(|action| for_task(task, action)).collect()
}

/// The action for an agent: none, unless every service on its node belongs to a stopped task, by its full ARN.
fn plan_agent(agent: &ClientAgent, by_task: &ByTask<'_>, is_for_events: bool) -> Option<Planned> {
    let hosts_others = !agent.node.others.is_empty() || agent.node.is_synthetic;
    let mut tasks = BTreeMap::new();
    for instance in &agent.node.instances {
        let belongs = |task: &&MeshTask| instance.task_arn.as_ref() == Some(&task.arn);
        let task = by_task.stopped(&instance.task).find(belongs)?;
        tasks.insert(task.arn.clone(), task.cluster.clone());
    }
    let cluster = tasks.values().next()?.clone();
    if hosts_others {
        return None;
    }
    let action = match agent.member.status {
        AgentStatus::Failed => Action::ForceLeave(agent.clone()),
        AgentStatus::Alive if is_for_events => Action::AwaitAgent(agent.clone()),
        AgentStatus::Alive | AgentStatus::Left => return None,
    };
    Some(Planned { action, cluster, tasks: tasks.into_keys().collect() })
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
fn revocable_holders(task: &MeshTask, observed: &Observed, settings: PlanSettings<'_>) -> Vec<TokenHolder> {
    let Some(identity) = &task.identity else { return Vec::new() };
    let required = settings.tokens().required(identity);
    let mut used = settings.tokens().used(identity);
    used.retain(|holder| {
        let is_held = || observed.tokens.iter().any(|token| token.description.is_of(holder, settings.clusters));
        required.contains(holder) || is_held()
    });
    used
}

fn for_task(task: &MeshTask, action: Action) -> Planned {
    Planned { action, cluster: task.cluster.clone(), tasks: vec![task.arn.clone()] }
}

/// One change. Every action is idempotent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Ensure that the holder has a valid token in Consul, and that its secret contains it.
    Provision(TokenHolder),
    /// Register a critical check for an instance, so that it receives no new traffic.
    MarkCritical(ServiceInstance, DrainReason),
    /// Deregister the check that drains an instance of a running task.
    EndDrain(HealthCheck),
    /// Register what Consul lacks of a running task.
    Repair(Difference),
    /// Correct checks of a running task that contradict ECS.
    CorrectHealth(Vec<HealthCheck>),
    /// Delete a token that a stopped task logged in for.
    DeleteLoginToken(ListedToken),
    /// Deregister the instance of a stopped task, with its checks.
    Deregister(ServiceInstance),
    /// Force-leave a failed client agent, which ran in a stopped task.
    ForceLeave(ClientAgent),
    /// Check again later: Consul does not report the client agent of the stopped task as failed yet.
    AwaitAgent(ClientAgent),
    /// Deregister the synthetic node of a deleted cluster.
    DeregisterNode(LeftoverNode),
    /// Check after the grace period whether a task still uses the holder's token.
    CheckIdleness(TokenHolder),
    Hide(TokenHolder, Idle),
    /// Delete an idle token, after it was hidden for [`crate::time::Bounds::hidden_for`].
    Revoke(TokenHolder, Idle),
    /// Delete a token with a mark of the controller that the secret of the holder does not contain.
    DeleteOrphan(TokenHolder, ListedToken, Retirement),
    /// Write such a token into the secret, which an operator has emptied.
    ShowOrphan(TokenHolder, ListedToken),
}

impl Action {
    /// The task of the instance that is drained or deregistered.
    pub fn instance_task(&self) -> Option<&TaskId> {
        match self {
            Self::MarkCritical(instance, _) | Self::Deregister(instance) => Some(&instance.task),
            _ => None,
        }
    }

    /// The holder of the token that the action is about.
    pub fn holder(&self) -> Option<&TokenHolder> {
        match self {
            Self::Provision(holder)
            | Self::CheckIdleness(holder)
            | Self::Hide(holder, _)
            | Self::Revoke(holder, _)
            | Self::DeleteOrphan(holder, ..)
            | Self::ShowOrphan(holder, _) => Some(holder),
            Self::MarkCritical(..)
            | Self::EndDrain(_)
            | Self::Repair(_)
            | Self::CorrectHealth(_)
            | Self::DeleteLoginToken(_)
            | Self::Deregister(_)
            | Self::ForceLeave(_)
            | Self::AwaitAgent(_)
            | Self::DeregisterNode(_) => None,
        }
    }

    /// Whether the action removes something from Consul or hides a token.
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
            | Self::MarkCritical(..)
            | Self::EndDrain(_)
            | Self::Repair(_)
            | Self::CorrectHealth(_)
            | Self::AwaitAgent(_)
            | Self::CheckIdleness(_)
            | Self::ShowOrphan(..) => false,
        }
    }
}

/// An action, and the tasks that require it: if it fails, their messages return to the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    pub action: Action,
    /// The cluster that it is reported for: its tasks', or the one that the mark of its token names, which may not be
    /// among those that were read.
    pub cluster: ClusterArn,
    /// The tasks that require it; empty if none does.
    pub tasks: Vec<TaskArn>,
}

/// The observed state of one scope: the tasks of a batch of events, or whole clusters.
#[derive(Debug, Default, Clone)]
pub struct Observed {
    pub tasks: Vec<MeshTask>,
    /// In a sweep, the stopped ones among them that ECS does not describe. It may describe a young task later.
    pub unknown: BTreeSet<TaskArn>,
    /// In a sweep, how many tasks of each existing cluster ECS counts and lists.
    pub counts: BTreeMap<ClusterArn, TaskCounts>,
    /// ACL tokens; for events, listed only if a task has stopped.
    pub tokens: Vec<ListedToken>,
    /// Service instances of stopping and stopped tasks on synthetic nodes; in a sweep, of all tasks.
    pub instances: Vec<ServiceInstance>,
    /// Health checks of the instances of stopping tasks.
    pub checks: Vec<HealthCheck>,
    /// Consul client agents that may have run in stopped tasks.
    pub agents: Vec<ClientAgent>,
    /// For events, the clusters of stopping and stopped tasks whose synthetic node Consul does not have, by partition.
    pub lost_nodes: BTreeSet<(ClusterArn, Tenancy)>,
    /// Synthetic nodes of clusters that ECS has deleted.
    pub leftover_nodes: Vec<LeftoverNode>,
    /// Holders whose tokens are known to be valid.
    pub provisioned: BTreeSet<TokenHolder>,
    /// In a sweep, holders that get no token: their secret cannot be used, or another spelling has the service's token. What Consul
    /// and their secret have is judged nevertheless, if it could be read.
    pub faulty: BTreeSet<TokenHolder>,
    /// In a sweep, the secrets of the holders that require a token or have one.
    pub secrets: BTreeMap<TokenHolder, StoredSecret>,
    pub coverage: Coverage,
}

impl Observed {
    /// Leaves out what these tasks have in Consul: they are not judged, and must not count for the guard.
    pub fn leave_out(&mut self, cluster: &ClusterArn, tasks: &BTreeSet<TaskId>) {
        if tasks.is_empty() {
            return;
        }
        self.instances.retain(|instance| instance.node != cluster.as_str() || !tasks.contains(&instance.task));
        let is_theirs = |login: &LoginMark| cluster.is_named_by(&login.cluster) && tasks.contains(&login.task);
        self.tokens.retain(|token| !token.login().is_some_and(is_theirs));
    }
}

#[derive(Debug, Default, Clone)]
pub enum Coverage {
    /// The tasks of a batch of events. Whether a service is idle is decided by a later idle check.
    #[default]
    Events,
    /// Whole clusters. The listing covers every cluster of the deployment; `None` if one of them could not be read:
    /// then no service is considered idle.
    Clusters(Option<TaskListing>),
}

/// What was observed, by the ID of a task, in the order in which it was observed.
struct ByTask<'a> {
    logins: BTreeMap<&'a TaskId, Vec<&'a ListedToken>>,
    instances: BTreeMap<&'a TaskId, Vec<&'a ServiceInstance>>,
    stopped: BTreeMap<&'a TaskId, Vec<&'a MeshTask>>,
    /// The critical checks, by the instance that they belong to.
    critical: BTreeMap<&'a str, Vec<&'a HealthCheck>>,
}

impl<'a> ByTask<'a> {
    fn new(observed: &'a Observed) -> Self {
        let logins = observed.tokens.iter().filter_map(|token| Some((&token.login()?.task, token)));
        let stopped = observed.tasks.iter().filter(|task| task.phase == TaskPhase::Stopped);
        let critical = observed.checks.iter().filter(|check| check.status == CheckStatus::Critical);
        Self {
            logins: group(logins),
            instances: group(observed.instances.iter().map(|instance| (&instance.task, instance))),
            stopped: group(stopped.map(|task| (task.arn.id(), task))),
            critical: group(critical.map(|check| (check.service_id.as_str(), check))),
        }
    }

    fn logins(&self, task: &MeshTask) -> impl Iterator<Item = &'a ListedToken> {
        let tokens = self.logins.get(task.arn.id()).into_iter().flatten().copied();
        tokens.filter(|token| token.login().is_some_and(|login| login.is_of(task.arn.id(), &task.cluster)))
    }

    /// The instances of a task on the synthetic node of its cluster.
    fn instances(&self, task: &MeshTask) -> impl Iterator<Item = &'a ServiceInstance> {
        let instances = self.instances.get(task.arn.id()).into_iter().flatten().copied();
        instances.filter(|instance| instance.node == task.cluster.as_str())
    }

    /// The stopped tasks with this ID: clusters of different accounts may have one each.
    fn stopped(&self, id: &TaskId) -> impl Iterator<Item = &'a MeshTask> {
        self.stopped.get(id).into_iter().flatten().copied()
    }

    /// Whether an instance is drained, and stays so for as long as the reason wants. All reasons but the gone host share one check,
    /// for which `Stopping` stands here: it outlasts the check of the host.
    fn is_drained(&self, instance: &ServiceInstance, reason: DrainReason) -> bool {
        let checks = [reason, DrainReason::Stopping].map(|reason| HealthCheck::maintenance(instance, reason));
        let drains = |seen: &&HealthCheck| checks.iter().any(|check| seen.is_same_as(check));
        self.critical.get(instance.id.as_str()).is_some_and(|seen| seen.iter().any(drains))
    }
}

fn group<K: Ord, V>(pairs: impl Iterator<Item = (K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut groups: BTreeMap<K, Vec<V>> = BTreeMap::new();
    for (key, value) in pairs {
        groups.entry(key).or_default().push(value);
    }
    groups
}
