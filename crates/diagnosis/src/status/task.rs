//! What is wrong with one task, and what Consul has registered for it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::IpAddr,
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use mesh::{
    admission::{Claim, TokenGap},
    arn::TaskId,
    broken::Broken,
    catalog::{CheckStatus, HealthCheck, ServiceInstance, instance_in_maintenance},
    consul_ecs::{InstanceKind, Registration, names::DATAPLANE, service_behind, task_of},
    identity::MeshService,
    mark::HolderMark,
    member::MemberTask,
    repair::{Catalog, NodeReading, NotRepaired},
    task::{ContainerHealth, DescribedTask, TaskContainer, TaskPhase},
    tenancy::Tenancy,
    time::elapsed,
};
use observe::{CatalogReading, InspectedCluster, UntaggedTask};

use super::{State, held_up::HeldUp};
use crate::tokens::{ClusterTokens, TokenSource, Tokens};

/// The verdict on a task. What matters most comes first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TaskVerdict {
    /// Consul has no instance of it, or not all that belongs to it.
    NotRegistered(String),
    /// Nothing outside of it can make it work again.
    Broken(String),
    /// Its instance is in maintenance mode and gets no traffic.
    Drained(String),
    /// Other tasks cannot reach it.
    Unreachable(String),
    /// A check of its instance does not pass, or a container keeps it from starting.
    NotPassing(String),
    /// It is meant to be in the mesh, but the controller does not know it.
    NotInTheMesh(String),
    /// What ECS reports of it is old.
    Disconnected(String),
    /// Why it cannot be said.
    Unknown(&'static str),
    /// It is still starting.
    Starting(String),
    /// ECS told it to stop.
    Stopping,
    /// All is as it should be.
    Healthy,
}

impl TaskVerdict {
    /// The verdict on a task whose revision has lost the mesh tag.
    pub(super) fn of_untagged(task: &UntaggedTask) -> Self {
        match task.member.task.phase {
            TaskPhase::Stopping => Self::Stopping,
            _ => Self::NotInTheMesh(task.loss()),
        }
    }

    pub(super) fn state(&self) -> State {
        match self {
            Self::NotRegistered(_)
            | Self::Broken(_)
            | Self::Drained(_)
            | Self::Unreachable(_)
            | Self::NotPassing(_)
            | Self::NotInTheMesh(_)
            | Self::Disconnected(_) => State::Faulty,
            Self::Unknown(_) => State::Unknown,
            Self::Starting(_) => State::Starting,
            Self::Stopping => State::Stopping,
            Self::Healthy => State::Healthy,
        }
    }
}

impl fmt::Display for TaskVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRegistered(why) => write!(f, "not registered: {why}"),
            Self::Broken(why) => write!(f, "broken: {why}"),
            Self::Drained(why) => write!(f, "drained: {why}"),
            Self::Unreachable(why) => write!(f, "unreachable: {why}"),
            Self::NotPassing(why) => write!(f, "not passing: {why}"),
            Self::NotInTheMesh(why) => write!(f, "not in the mesh: {why}"),
            Self::Disconnected(why) => f.write_str(why),
            Self::Unknown(why) => write!(f, "unknown: {why}"),
            Self::Starting(why) => write!(f, "starting: {why}"),
            Self::Stopping => f.write_str("stopping"),
            Self::Healthy => f.write_str("healthy"),
        }
    }
}

/// The verdict on a task that has not stopped. Consul has these `tokens`; `None` if that is not known. `why` names the cause
/// of this verdict, and has none of its own.
pub(crate) fn verdict(
    member: &MemberTask,
    cluster: &InspectedCluster,
    on_node: Option<&OnNode<'_>>,
    tokens: Option<&ClusterTokens<'_>>,
    now: Timestamp,
) -> TaskVerdict {
    let task = &member.task;
    match task.phase {
        TaskPhase::Stopping => return TaskVerdict::Stopping,
        TaskPhase::Unknown => return TaskVerdict::Unknown("ECS reports a status that this version does not know"),
        TaskPhase::Active | TaskPhase::Stopped => {}
    }
    if task.placement.is_disconnected {
        return TaskVerdict::Disconnected(task.placement.lost_contact());
    }
    let expected = member.expected();
    if let Err(why @ (NotRepaired::OtherTaskId(_) | NotRepaired::Failed(_))) = &expected {
        return TaskVerdict::NotRegistered(why.to_string());
    }
    if let Some(why) = broken(member, cluster, tokens, now) {
        return TaskVerdict::Broken(why);
    }
    if let Some(held_up) = HeldUp::of(member) {
        return TaskVerdict::NotPassing(held_up.to_string());
    }
    let Some(on_node) = on_node else { return TaskVerdict::Unknown("Consul could not be read") };
    let is_new = !task.has_had_time_to_register(now);
    if !task.is_running() && is_new {
        return TaskVerdict::Starting(format!("ECS reports {}", member.task.last_status));
    }
    let expected = expected.ok();
    let missing_of = expected.as_ref().and_then(|expected| Some((on_node.missing(expected)?, expected.len())));
    let has_none = match &missing_of {
        Some((missing, all)) => missing.len() == *all,
        None => on_node.instances_of(task.arn.id()).is_empty(),
    };
    if has_none {
        return missing(member, is_new);
    }
    let failing = on_node.failing(task.arn.id());
    if let Some(check) = maintenance(&failing) {
        return TaskVerdict::Drained(
            first_line(&check.output).unwrap_or("it is in Consul's maintenance mode").to_owned(),
        );
    }
    if let Some(address) = on_node.loopback(member) {
        return TaskVerdict::Unreachable(format!("it is registered at {address}, where no other task finds it"));
    }
    if !failing.is_empty() {
        return not_passing(member, &failing, is_new);
    }
    if let Some(registration) = missing_of.as_ref().and_then(|(missing, _)| missing.first()) {
        return TaskVerdict::NotRegistered(format!("Consul has no instance of {}", registration.name));
    }
    match task.containers.iter().find(|it| it.health == ContainerHealth::Unhealthy && !it.is_stopped) {
        Some(container) => TaskVerdict::NotPassing(format!("its container {} is UNHEALTHY", container.name)),
        None => TaskVerdict::Healthy,
    }
}

/// The check that drains a task. Of two reasons, the one that lasts as long as the task is named.
pub(crate) fn maintenance<'a>(failing: &[&'a HealthCheck]) -> Option<&'a HealthCheck> {
    let drains = failing.iter().filter(|check| instance_in_maintenance(&check.id).is_some());
    drains.min_by_key(|check| check.drains_for_gone_host()).copied()
}

/// Why no login token proves the admission of a task as what it is registered. A client agent registers its task itself.
pub(super) fn gap(member: &MemberTask, on_node: &OnNode<'_>, tokens: &Tokens) -> Option<TokenGap> {
    let (cluster, task) = (&member.cluster, member.task.arn.id());
    let mut services = on_node.services_of(task).filter(|_| !member.definition.runs_client_agent());
    services.find_map(|(service, tenancy)| tokens.gap(member, &Claim { cluster, task, service, tenancy }))
}

/// Why only another task can take the place of a running one.
fn broken(
    member: &MemberTask,
    cluster: &InspectedCluster,
    tokens: Option<&ClusterTokens<'_>>,
    now: Timestamp,
) -> Option<String> {
    if let Some(why) = lost_token(member, cluster, tokens, now) {
        return Some(why);
    }
    if let Some(stopped) = member.broken(None, now) {
        return Some(stopped.to_string());
    }
    let reporter = member.definition.programs.health_reporter()?;
    let is_lost = member.task.losses(&member.definition).health_sync;
    is_lost.then(|| format!("its container {reporter} has stopped, so nothing reports its health"))
}

/// Which token Consul lacks of a task whose proxy runs: the proxy works until it reconnects.
pub(crate) fn lost_token(
    member: &MemberTask,
    cluster: &InspectedCluster,
    tokens: Option<&ClusterTokens<'_>>,
    now: Timestamp,
) -> Option<String> {
    match member.broken(login_tokens(member, tokens), now) {
        Some(lost @ (Broken::NoTokens | Broken::OneToken)) => Some(lost.to_string()),
        None if is_service_token_gone(member, cluster, tokens.map(|tokens| tokens.all)) => {
            Some(format!("Consul does not have the token of the service {}", member.identity.service.name))
        }
        Some(Broken::ProxyStopped) | None => None,
    }
}

/// How many login tokens Consul has of a task; `None` if that is not known.
pub(crate) fn login_tokens(member: &MemberTask, tokens: Option<&ClusterTokens<'_>>) -> Option<usize> {
    tokens?.logins.of_running(&member.cluster, member.task.arn.id())
}

/// Whether Consul certainly lacks the token that a running task has read from Secrets Manager.
pub(crate) fn is_service_token_gone(member: &MemberTask, cluster: &InspectedCluster, tokens: Option<&Tokens>) -> bool {
    let reads = matches!(TokenSource::of_task(member, cluster), TokenSource::SecretsManager { .. });
    let is_its = |mark: &HolderMark| mark.service.as_ref() == Some(&member.identity.service.name);
    let has_token = |tokens: &Tokens| tokens.listed.iter().any(|token| token.mark().is_some_and(is_its));
    reads && member.task.is_running() && tokens.is_some_and(|tokens| !has_token(tokens))
}

/// A task without an instance.
fn missing(member: &MemberTask, is_new: bool) -> TaskVerdict {
    match member.expected() {
        Err(NotRepaired::Starting(container)) if is_new => {
            TaskVerdict::Starting(format!("{container} has not registered it yet"))
        }
        _ if is_new && member.definition.runs_client_agent() => {
            TaskVerdict::Starting("its Consul client agent has not registered it yet".to_owned())
        }
        Err(why) => TaskVerdict::NotRegistered(why.to_string()),
        Ok(_) => TaskVerdict::NotRegistered("Consul has lost it".to_owned()),
    }
}

/// A task whose checks do not pass: these. A container that has not been healthy yet may still become so.
fn not_passing(member: &MemberTask, failing: &[&HealthCheck], is_new: bool) -> TaskVerdict {
    let task = &member.task;
    let named = failing.iter().filter_map(|check| task.container(check.container()?));
    let worst = named.min_by_key(|container| (rank(container), container.name == DATAPLANE));
    match worst {
        Some(container) if container.is_stopped => {
            TaskVerdict::NotPassing(format!("its container {} has stopped", container.name))
        }
        Some(container) => {
            let (name, health) = (&container.name, container.health);
            match health {
                ContainerHealth::Healthy => TaskVerdict::NotPassing(format!(
                    "its container {name} is HEALTHY in ECS, but its check in Consul is {}",
                    failing.first().map_or("not passing", |check| check.status.as_str())
                )),
                ContainerHealth::Unknown if is_new => {
                    TaskVerdict::Starting(format!("its container {name} has not been healthy yet"))
                }
                _ => TaskVerdict::NotPassing(format!("its container {name} is {}", health.as_str())),
            }
        }
        None => {
            let check = failing.first().map(|check| format!("its check {:?} is {}", check.name, check.status.as_str()));
            TaskVerdict::NotPassing(check.unwrap_or_default())
        }
    }
}

/// How bad the health of a container is, worst first.
fn rank(container: &TaskContainer) -> u8 {
    match (container.is_stopped, container.health) {
        (true, _) => 0,
        (_, ContainerHealth::Unhealthy) => 1,
        (_, ContainerHealth::Unknown) => 2,
        (_, ContainerHealth::Healthy) => 3,
    }
}

/// The first line with words.
pub(crate) fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

/// How long after the end of a task its instance may still be there: its event is under way.
pub(crate) const TIME_TO_DEREGISTER: Duration = Duration::from_secs(60);

/// The instances and checks of a reading, by task.
pub(crate) struct OnNode<'a> {
    /// As the sweep compares it.
    catalog: Catalog<'a>,
    nodes: &'a [NodeReading],
    instances: BTreeMap<&'a TaskId, Vec<&'a ServiceInstance>>,
    /// By the ID of their instance.
    checks: BTreeMap<&'a str, Vec<&'a HealthCheck>>,
}

/// An instance in Consul without a running task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Leftover {
    pub(crate) service: MeshService,
    pub(crate) task: TaskId,
}

impl<'a> OnNode<'a> {
    pub(crate) fn new(reading: &'a CatalogReading) -> Self {
        let (mut instances, mut checks) = (BTreeMap::new(), BTreeMap::new());
        for instance in &reading.instances {
            instances.entry(&instance.task).or_insert_with(Vec::new).push(instance);
        }
        for check in &reading.checks {
            checks.entry(check.service_id.as_str()).or_insert_with(Vec::new).push(check);
        }
        let catalog = Catalog::new(&reading.nodes, &reading.instances, &reading.checks);
        Self { catalog, nodes: &reading.nodes, instances, checks }
    }

    /// The instance of a task, with its sidecar proxy.
    pub(crate) fn instances_of(&self, task: &TaskId) -> &[&'a ServiceInstance] {
        self.instances.get(task).map(Vec::as_slice).unwrap_or_default()
    }

    /// The names and places of the services and gateways that are registered for a task, also of those whose metadata does not
    /// name it. A sidecar proxy comes with its service.
    fn services_of(&self, task: &TaskId) -> impl Iterator<Item = (&'a str, &'a Tenancy)> {
        let marked = self.instances_of(task).iter().map(|it| (it.name.as_str(), it.kind.as_str(), &it.tenancy));
        let others = self.nodes.iter().flat_map(|node| &node.others).filter(|it| task_of(&it.id) == task.as_str());
        let others = others.map(|it| (it.name.as_str(), it.kind.as_str(), &it.tenancy));
        let is_sidecar = |kind: &str| InstanceKind::ConnectProxy.as_str() == Some(kind);
        marked.chain(others).filter(move |(_, kind, _)| !is_sidecar(kind)).map(|(name, _, tenancy)| (name, tenancy))
    }

    /// Whether Consul has all instances of a task, each by its ID, name and kind. Where it is not known what they are, an instance
    /// whose metadata names the task is enough.
    pub(crate) fn is_registered(&self, member: &MemberTask) -> bool {
        match member.expected().ok().and_then(|expected| self.missing(&expected)) {
            Some(missing) => missing.is_empty(),
            None => !self.instances_of(member.task.arn.id()).is_empty(),
        }
    }

    /// Those of the expected instances of a task that Consul does not have; `None` if that is not known.
    pub(crate) fn missing(&self, expected: &[Registration]) -> Option<Vec<Registration>> {
        Some(self.catalog.difference(expected)?.instances)
    }

    /// The loopback address that an instance of a task is registered with: other proxies connect to themselves. Where the task
    /// metadata endpoint has no IPv4 address of the task, consul-ecs registers 127.0.0.1:
    /// <https://github.com/hashicorp/consul-ecs/blob/v0.10.0/awsutil/awsutil.go>. A client agent has an address of its own.
    pub(crate) fn loopback(&self, member: &MemberTask) -> Option<IpAddr> {
        let instances =
            self.instances_of(member.task.arn.id()).iter().filter(|_| !member.definition.runs_client_agent());
        instances.filter_map(|instance| instance.address).find(IpAddr::is_loopback)
    }

    /// The checks of a task's sidecar proxy that neither consul-ecs nor the controller has written. health-sync exits with an
    /// error when it starts, unless the proxy has one check:
    /// <https://github.com/hashicorp/consul-ecs/blob/v0.10.0/subcommand/health-sync/checks.go>
    pub(crate) fn foreign_checks_of_sidecar(&self, task: &TaskId) -> Vec<&'a HealthCheck> {
        let is_sidecar = |instance: &&&ServiceInstance| InstanceKind::ConnectProxy.as_str() == Some(&instance.kind);
        let sidecars = self.instances_of(task).iter().filter(is_sidecar);
        let checks = sidecars.flat_map(|sidecar| self.checks.get(sidecar.id.as_str()).into_iter().flatten().copied());
        checks.filter(|check| check.container() != Some(DATAPLANE) && check.drain().is_none()).collect()
    }

    /// The checks of a task and its node that do not pass: Consul gives no traffic to the instances of a critical
    /// node.
    pub(crate) fn failing(&self, task: &TaskId) -> Vec<&'a HealthCheck> {
        let of_instance = |instance: &&ServiceInstance| {
            let (node, tenancy) = (instance.node.clone(), instance.tenancy.clone());
            let of_instance = self.checks.get(instance.id.as_str()).into_iter().flatten();
            let checks = of_instance.chain(self.checks.get("").into_iter().flatten()).copied();
            checks.filter(move |check| check.node == node && (check.service_id.is_empty() || check.tenancy == tenancy))
        };
        let checks = self.instances_of(task).iter().flat_map(of_instance);
        checks.filter(|check| check.status != CheckStatus::Passing).collect()
    }

    /// The instances whose tasks ECS does not run any more.
    pub(crate) fn leftovers(&self, cluster: &InspectedCluster, now: Timestamp) -> Vec<Leftover> {
        let is_current = |task: &&Arc<DescribedTask>| {
            task.phase.is_living() || task.end.stopped_at.is_some_and(|at| elapsed(at, now) < TIME_TO_DEREGISTER)
        };
        let outside: BTreeSet<&TaskId> = cluster.outside.tasks.iter().map(|task| task.arn.id()).collect();
        let described = cluster.tasks.iter().map(|member| &member.task).chain(&cluster.outside.tasks);
        let described = described.filter(is_current).map(|task| task.arn.id());
        let undescribed = cluster.others.iter().filter(|id| !outside.contains(id));
        let current: BTreeSet<&TaskId> = described.chain(undescribed).collect();
        let gone = self.instances.iter().filter(|(task, _)| !current.contains(*task));
        let gone = gone.flat_map(|(_, instances)| instances).filter_map(|instance| leftover(instance));
        gone.collect::<BTreeSet<Leftover>>().into_iter().collect()
    }
}

fn leftover(instance: &ServiceInstance) -> Option<Leftover> {
    let name = service_behind(&instance.name).parse().ok()?;
    let service = MeshService { tenancy: instance.tenancy.clone(), name };
    Some(Leftover { service, task: instance.task.clone() })
}
