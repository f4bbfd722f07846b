//! What was read: which tasks and ECS services of a cluster are in the mesh, which are controllers of it, and what Consul has
//! of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use aws::ecs::{DefinitionState, ServiceState, TaskState};
use mesh::{
    arn::{ClusterArn, TaskDefinitionArn, TaskId},
    catalog::{HealthCheck, ServiceInstance},
    definition::{MeshIdentity, MeshService, Tags},
    repair::NodeReading,
    secret_name::SecretNames,
    settings::{TokenMode, TokenSettings},
    task::TaskPhase,
};

use crate::{reader::Scope, tokens::TokenSource};

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

/// Where a task or an ECS service belongs.
pub(crate) enum Sorted<M, O> {
    /// It is in the mesh.
    InMesh(M),
    /// It is not.
    Outside(O),
    /// It is not known: its definition could not be read, or is not valid. The reason is among the problems.
    Unknown(O),
}

/// Sorts tasks and ECS services into those of the mesh and others.
pub(crate) struct Sorter<'a> {
    pub(crate) scope: &'a Scope,
    /// The names of secrets beside the cluster.
    pub(crate) names: Option<&'a SecretNames>,
    /// The definitions that could be read.
    pub(crate) definitions: BTreeMap<TaskDefinitionArn, Arc<DefinitionState>>,
    /// Gets what is wrong with definitions.
    pub(crate) problems: &'a mut Vec<String>,
}

/// It is not known whether something is in the mesh. The reason is among the problems.
struct Unidentified;

impl Sorter<'_> {
    /// A task of the mesh, or one outside of it.
    pub(crate) fn task(&mut self, state: TaskState) -> Sorted<Member, OutsideTask> {
        let definition = self.definitions.get(&state.task.definition).cloned();
        let Some(definition) = definition else { return Sorted::Unknown(OutsideTask { state, definition: None }) };
        let is_enterprise = self.scope.default_tenancy.partition().is_some();
        match self.identify(&definition, &state.task.tags) {
            Ok(Some((identity, token))) => {
                Sorted::InMesh(Member { state, service: identity.service, definition, token, is_enterprise })
            }
            Ok(None) => Sorted::Outside(OutsideTask { state, definition: Some(definition) }),
            Err(Unidentified) => Sorted::Unknown(OutsideTask { state, definition: Some(definition) }),
        }
    }

    /// An ECS service is in the mesh if its tasks are, or if its definition is.
    pub(crate) fn service(&mut self, state: ServiceState, tasks: &[Member]) -> Sorted<MemberService, OutsideService> {
        let is_its = |member: &&Member| member.state.task.placement.service.as_ref() == Some(&state.name);
        let definition = state.definition.as_ref().and_then(|arn| self.definitions.get(arn)).cloned();
        if let Some(member) = tasks.iter().find(is_its) {
            let (service, token) = (member.service.clone(), member.token.clone());
            return Sorted::InMesh(MemberService { state, service, definition, token });
        }
        match definition.as_ref().map(|definition| self.identify(definition, &Tags::default())) {
            Some(Ok(Some((identity, token)))) => {
                Sorted::InMesh(MemberService { state, service: identity.service, definition, token })
            }
            Some(Ok(None)) => Sorted::Outside(OutsideService { state, definition }),
            Some(Err(Unidentified)) | None => Sorted::Unknown(OutsideService { state, definition }),
        }
    }

    fn identify(
        &mut self,
        state: &DefinitionState,
        tags: &Tags,
    ) -> Result<Option<(MeshIdentity, TokenSource)>, Unidentified> {
        let rules = TokenSettings { mode: TokenMode::Auto, names: self.names.ok_or(Unidentified)? };
        match state.definition.identify(tags, &self.scope.default_tenancy, rules) {
            Ok(identity) => Ok(identity.map(|identity| (identity.clone(), TokenSource::of(state, &identity, rules)))),
            Err(invalid) => {
                let problem = format!("task definition {}: {invalid}", state.definition.arn);
                if !self.problems.contains(&problem) {
                    self.problems.push(problem);
                }
                Err(Unidentified)
            }
        }
    }
}

/// The controllers of consul-ecs that run, or that a service wants to run.
pub(crate) fn controllers(
    tasks: &[TaskState],
    services: &[ServiceState],
    definitions: &BTreeMap<TaskDefinitionArn, Arc<DefinitionState>>,
) -> Vec<OtherController> {
    let image = |definition: &TaskDefinitionArn| {
        let state = definitions.get(definition)?;
        state.images.get(state.definition.programs.controller.as_ref()?).cloned()
    };
    let wanted = services.iter().filter(|service| service.desired > 0).filter_map(|service| {
        let image = image(service.definition.as_ref()?)?;
        Some(OtherController { runs_as: RunsAs::Service(service.name.clone()), image })
    });
    let running = tasks.iter().filter(|state| state.task.phase == TaskPhase::Active).filter_map(|state| {
        let runs_as = match &state.task.placement.service {
            Some(service) => RunsAs::Service(service.clone()),
            None => RunsAs::Task(state.task.arn.id().clone()),
        };
        Some(OtherController { runs_as, image: image(&state.task.definition)? })
    });
    // A service may run several tasks, of several images during a deployment.
    let mut found: Vec<OtherController> = wanted.chain(running).collect();
    found.sort();
    found.dedup_by(|a, b| a.runs_as == b.runs_as);
    found
}
