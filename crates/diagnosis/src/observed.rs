//! What was read.

use std::{collections::BTreeSet, sync::Arc};

use aws::ecs::{DefinitionState, ServiceState, TaskState};
use mesh::{
    arn::{ClusterArn, TaskId},
    catalog::{HealthCheck, ServiceInstance},
    identity::MeshService,
    repair::NodeReading,
};

use crate::token_source::TokenSource;

/// Some clusters, as they were read.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// The clusters whose tasks and services could be read.
    pub clusters: Vec<ObservedCluster>,
    /// What could not be read, and why, one sentence each.
    pub problems: Vec<String>,
}

/// A cluster.
#[derive(Debug, Clone)]
pub struct ObservedCluster {
    /// The cluster.
    pub arn: ClusterArn,
    /// The ECS services of the mesh.
    pub services: Vec<MemberService>,
    /// The tasks of the mesh, those included that have stopped within about an hour.
    pub tasks: Vec<Member>,
    /// The other tasks: outside the mesh, or of a definition that could not be read.
    pub others: BTreeSet<TaskId>,
    /// The services and tasks that are not in the mesh.
    pub outside: Outside,
    /// The controllers of consul-ecs.
    pub controllers: Vec<OtherController>,
    /// Those of the others of which it is not known whether they are in the mesh: their definition could not be read.
    pub unsorted: BTreeSet<TaskId>,
    /// What Consul has registered for the cluster; `None` if that could not be read.
    pub catalog: Option<CatalogReading>,
}

/// The services and tasks of a cluster that are not in the mesh.
#[derive(Debug, Clone, Default)]
pub struct Outside {
    /// The services.
    pub services: Vec<OutsideService>,
    /// The tasks.
    pub tasks: Vec<OutsideTask>,
}

/// An ECS service whose tasks are not in the mesh.
#[derive(Debug, Clone)]
pub struct OutsideService {
    /// What it wants.
    pub state: ServiceState,
    /// The revision of its tasks; `None` if it could not be read.
    pub definition: Option<Arc<DefinitionState>>,
}

/// A task that is not in the mesh.
#[derive(Debug, Clone)]
pub struct OutsideTask {
    /// The task.
    pub state: TaskState,
    /// Its revision; `None` if it could not be read.
    pub definition: Option<Arc<DefinitionState>>,
}

/// A controller of consul-ecs, that runs as an ECS service or as a task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OtherController {
    /// Its ECS service, or its task.
    pub runs_as: RunsAs,
    /// Its image.
    pub image: String,
}

/// How something is run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunsAs {
    /// By the ECS service of this name.
    Service(String),
    /// As a task without a service.
    Task(TaskId),
}

/// An ECS service whose tasks are in the mesh.
#[derive(Debug, Clone)]
pub struct MemberService {
    /// What it wants.
    pub state: ServiceState,
    /// Its service in Consul.
    pub service: MeshService,
    /// The revision of its tasks; `None` with an external deployment controller.
    pub definition: Option<Arc<DefinitionState>>,
    /// How its tasks get their tokens.
    pub token: TokenSource,
}

/// A task of the mesh.
#[derive(Debug, Clone)]
pub struct Member {
    /// The task.
    pub state: TaskState,
    /// Its service in Consul.
    pub service: MeshService,
    /// Its revision.
    pub definition: Arc<DefinitionState>,
    /// How it gets its token.
    pub token: TokenSource,
    /// Whether Consul is Enterprise.
    pub is_enterprise: bool,
}

/// What Consul has registered for the tasks of a cluster.
#[derive(Debug, Clone, Default)]
pub struct CatalogReading {
    /// The node of the cluster, by partition.
    pub nodes: Vec<NodeReading>,
    /// The instances of services, sidecar proxies and gateways.
    pub instances: Vec<ServiceInstance>,
    /// Their checks.
    pub checks: Vec<HealthCheck>,
}

impl CatalogReading {
    /// The instances of these tasks, and their checks.
    pub(crate) fn of_tasks(self, tasks: &BTreeSet<&TaskId>) -> Self {
        let instances: Vec<ServiceInstance> =
            self.instances.into_iter().filter(|instance| tasks.contains(&instance.task)).collect();
        let is_theirs = |check: &HealthCheck| instances.iter().any(|instance| instance.id == check.service_id);
        Self { nodes: Vec::new(), checks: self.checks.into_iter().filter(is_theirs).collect(), instances }
    }

    /// Adds what another reading has.
    pub(crate) fn extend(&mut self, other: Self) {
        self.instances.extend(other.instances);
        self.checks.extend(other.checks);
    }
}
