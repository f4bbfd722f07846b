//! What Consul has registered, by task.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use mesh::{
    arn::TaskId,
    catalog::{CheckStatus, HealthCheck, ServiceInstance},
    identity::MeshService,
    phase::TaskPhase,
    registration::{InstanceKind, Registration},
    repair::{Catalog, NodeReading, TaskFacts, task_of},
    tenancy::Tenancy,
    time::elapsed,
};

use crate::observed::{CatalogReading, ObservedCluster};

/// The end of the name of a sidecar proxy.
const SIDECAR: &str = "-sidecar-proxy";
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
pub(super) struct Leftover {
    pub(super) service: MeshService,
    pub(super) task: TaskId,
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
    pub(super) fn services_of(&self, task: &TaskId) -> impl Iterator<Item = (&'a str, &'a Tenancy)> {
        let marked = self.instances_of(task).iter().map(|it| (it.name.as_str(), it.kind.as_str(), &it.tenancy));
        let others = self.nodes.iter().flat_map(|node| &node.others).filter(|it| task_of(&it.id) == task.as_str());
        let others = others.map(|it| (it.name.as_str(), it.kind.as_str(), &it.tenancy));
        let is_sidecar = |kind: &str| InstanceKind::ConnectProxy.as_str() == Some(kind);
        marked.chain(others).filter(move |(_, kind, _)| !is_sidecar(kind)).map(|(name, _, tenancy)| (name, tenancy))
    }

    /// Whether Consul has all instances of a task, each by its ID, name and kind. Where it is not known what they are, an instance
    /// whose metadata names the task is enough.
    pub(crate) fn is_registered(&self, facts: &TaskFacts<'_>) -> bool {
        match facts.expected().ok().and_then(|expected| self.missing(&expected)) {
            Some(missing) => missing.is_empty(),
            None => !self.instances_of(facts.task.arn.id()).is_empty(),
        }
    }

    /// Those of the expected instances of a task that Consul does not have; `None` if that is not known.
    pub(crate) fn missing(&self, expected: &[Registration]) -> Option<Vec<Registration>> {
        Some(self.catalog.difference(expected)?.instances)
    }

    /// The checks of a task that do not pass, those of its node included: Consul gives no traffic to the instances of a critical
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
    pub(super) fn leftovers(&self, cluster: &ObservedCluster, now: Timestamp) -> Vec<Leftover> {
        let is_current = |phase: TaskPhase, stopped_at: Option<Timestamp>| {
            phase.is_living() || stopped_at.is_some_and(|at| elapsed(at, now) < TIME_TO_DEREGISTER)
        };
        let members = cluster.tasks.iter().map(|member| &member.state.task);
        let members = members.filter(|task| is_current(task.phase, task.stopped_at)).map(|task| task.arn.id());
        let current: BTreeSet<&TaskId> = members.chain(&cluster.others).collect();
        let gone = self.instances.iter().filter(|(task, _)| !current.contains(*task));
        let gone = gone.flat_map(|(_, instances)| instances).filter_map(|instance| leftover(instance));
        gone.collect::<BTreeSet<Leftover>>().into_iter().collect()
    }
}

fn leftover(instance: &ServiceInstance) -> Option<Leftover> {
    let name = instance.name.strip_suffix(SIDECAR).unwrap_or(&instance.name).parse().ok()?;
    let service = MeshService { tenancy: instance.tenancy.clone(), name };
    Some(Leftover { service, task: instance.task.clone() })
}
