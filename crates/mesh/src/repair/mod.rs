//! What Consul has lost of running tasks, or remembers wrongly: the difference between what `mesh-init` registered
//! for them, with the health that ECS reports, and the catalog.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    arn::{ClusterArn, TaskId},
    catalog::{CheckStatus, HealthCheck, OtherService, ServiceInstance},
    consul_ecs::{Registration, task_of},
    health::verdict,
    member::MemberTask,
    tenancy::{Tenancy, TenancyName},
};

mod expected;

pub use self::expected::{NotRepaired, opts_out};

/// `off`: the controller does not repair the task's entries in Consul. On a task, its definition or its ECS service.
pub const REPAIR_TAG: &str = "ecs-mesh-controller/repair";

/// A cluster's node in one partition, as a sweep read it.
#[derive(Debug, Clone)]
pub struct NodeReading {
    pub cluster: ClusterArn,
    pub tenancy: Tenancy,
    pub exists: bool,
    /// The services on it without a task's mark: the configuration of a task may replace its mark.
    pub others: Vec<OtherService>,
}

impl NodeReading {
    pub fn missing(cluster: ClusterArn, tenancy: Tenancy) -> Self {
        Self { cluster, tenancy, exists: false, others: Vec::new() }
    }
}

/// What is missing of the entries of one task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// The missing instances, with all of their checks.
    pub instances: Vec<Registration>,
    /// The missing checks of instances that are registered.
    pub checks: Vec<HealthCheck>,
}

impl Difference {
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty() && self.checks.is_empty()
    }

    /// The node of the task.
    pub fn node(&self) -> Option<&str> {
        let of_instances = self.instances.iter().map(|instance| &instance.node);
        of_instances.chain(self.checks.iter().map(|check| &check.node)).next().map(String::as_str)
    }
}

/// A namespace: node, partition, namespace. Without Enterprise names it is `default`.
type Place<'a> = (&'a str, &'a str, &'a str);

/// The catalog as a sweep read it.
#[derive(Debug)]
pub struct Catalog<'a> {
    /// The nodes that were read, by partition.
    nodes: BTreeSet<(&'a str, &'a str)>,
    /// Name and kind of each service, by its ID.
    services: BTreeMap<(Place<'a>, &'a str), (&'a str, &'a str)>,
    checks: BTreeMap<(Place<'a>, &'a str), &'a HealthCheck>,
    /// The IDs of the tasks with services.
    tasks: BTreeSet<&'a str>,
}

impl<'a> Catalog<'a> {
    /// The catalog with these nodes, and the services and checks on them.
    pub fn new(nodes: &'a [NodeReading], instances: &'a [ServiceInstance], checks: &'a [HealthCheck]) -> Self {
        let marked = instances
            .iter()
            .map(|it| ((place(&it.node, &it.tenancy), it.id.as_str()), (it.name.as_str(), it.kind.as_str())));
        let others = nodes.iter().flat_map(|node| {
            let of = |it: &'a OtherService| {
                ((place(node.cluster.as_str(), &it.tenancy), it.id.as_str()), (it.name.as_str(), it.kind.as_str()))
            };
            node.others.iter().map(of)
        });
        let services: BTreeMap<_, _> = marked.chain(others).collect();
        Self {
            tasks: services.keys().map(|(_, id)| task_of(id)).collect(),
            nodes: nodes.iter().map(|node| (node.cluster.as_str(), partition(&node.tenancy))).collect(),
            services,
            checks: checks.iter().map(|it| ((place(&it.node, &it.tenancy), it.id.as_str()), it)).collect(),
        }
    }

    /// What is missing of what a task should have. `None` if its node was not read in that partition.
    pub fn difference(&self, expected: &[Registration]) -> Option<Difference> {
        let mut difference = Difference::default();
        for registration in expected {
            let place = place(&registration.node, &registration.tenancy);
            if !self.nodes.contains(&(place.0, place.1)) {
                return None;
            }
            // An instance with this ID, and the name or kind of another one, is not the task's.
            let own = (registration.name.as_str(), registration.kind.as_str().unwrap_or_default());
            if self.services.get(&(place, registration.id.as_str())) != Some(&own) {
                difference.instances.push(registration.clone());
                continue;
            }
            let is_missing = |check: &&HealthCheck| !self.checks.contains_key(&(place, check.id.as_str()));
            difference.checks.extend(registration.checks.iter().filter(is_missing).cloned());
        }
        Some(difference)
    }

    /// A check as it was read; `None` if it is not there.
    pub fn check(&self, check: &HealthCheck) -> Option<&'a HealthCheck> {
        self.checks.get(&(place(&check.node, &check.tenancy), check.id.as_str())).copied()
    }

    /// Whether a service on a cluster's node has the task's ID in its own, as consul-ecs' services have.
    pub fn has_task(&self, id: &TaskId) -> bool {
        self.tasks.contains(id.as_str())
    }
}

fn partition(tenancy: &Tenancy) -> &str {
    tenancy.partition().map_or("default", TenancyName::as_str)
}

fn place<'a>(node: &'a str, tenancy: &'a Tenancy) -> Place<'a> {
    (node, partition(tenancy), tenancy.namespace().map_or("default", TenancyName::as_str))
}

/// The comparison of the registered checks of a task with the health that ECS reports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statuses {
    /// The checks with another status than in ECS, as they should be, with the `ModifyIndex` of what was read.
    pub contradicting: Vec<HealthCheck>,
    /// Describes a check that passes in Consul although ECS does not confirm it.
    pub unconfirmed: Option<String>,
}

impl MemberTask {
    /// Compares the registered checks among the expected ones with the health that ECS reports.
    pub fn statuses(&self, expected: &[Registration], catalog: &Catalog<'_>) -> Statuses {
        let mut statuses = Statuses::default();
        let Ok(config) = self.config() else { return statuses };
        let synced = self.synced(&config);
        for check in expected.iter().flat_map(|registration| &registration.checks) {
            let verdict = check.container().and_then(|container| verdict(&synced, container));
            let (Some(seen), Some(verdict)) = (catalog.check(check), verdict) else { continue };
            match verdict.status {
                Some(status) if status != seen.status => {
                    let (status, output) = (status, verdict.why);
                    let check = HealthCheck { status, output, modify_index: seen.modify_index, ..check.clone() };
                    statuses.contradicting.push(check);
                }
                None if seen.status == CheckStatus::Passing => {
                    let why = format!("{}; its check {} passes in Consul and stays unchanged", verdict.why, seen.id);
                    statuses.unconfirmed.get_or_insert(why);
                }
                _ => {}
            }
        }
        statuses
    }
}
