//! What was read: which tasks and ECS services of a cluster are in the mesh, which are controllers of it, and what Consul has
//! of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use aws::ecs::ServiceState;
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn, TaskId},
    catalog::{HealthCheck, ServiceInstance},
    definition::{Classification, MeshService, Tags, TaskDefinition},
    names::InvalidField,
    repair::NodeReading,
    secret_name::SecretNames,
    settings::{TokenMode, TokenSettings},
    task::{DescribedTask, MemberTask, TaskPhase},
    tenancy::Tenancy,
};

use crate::tokens::TokenSource;

/// Some clusters, as they were read.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// The clusters whose tasks and services could be read.
    pub clusters: Vec<ObservedCluster>,
    /// What could not be read, and why, one sentence each.
    pub problems: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct ObservedCluster {
    pub arn: ClusterArn,
    /// How the secrets of its tokens are named.
    pub names: SecretNames,
    /// The definitions that could be read.
    pub definitions: BTreeMap<TaskDefinitionArn, Arc<TaskDefinition>>,
    /// The ECS services of the mesh.
    pub services: Vec<MemberService>,
    /// The tasks of the mesh, those included that have stopped within about an hour.
    pub tasks: Vec<MemberTask>,
    /// The other tasks: outside the mesh, or not described, or of a definition that could not be read.
    pub others: BTreeSet<TaskId>,
    /// The services and tasks that are not in the mesh.
    pub outside: Outside,
    /// The controllers of consul-ecs.
    pub controllers: Vec<OtherController>,
    /// The other tasks that may be in the mesh: ECS does not describe them, or their definition could not be read.
    pub unsorted: BTreeSet<TaskId>,
    /// What Consul has registered for the cluster; `None` if that could not be read.
    pub catalog: Option<CatalogReading>,
}

/// The services and tasks of a cluster that are not in the mesh.
#[derive(Debug, Clone, Default)]
pub struct Outside {
    pub services: Vec<ServiceState>,
    pub tasks: Vec<Arc<DescribedTask>>,
}

/// A controller of consul-ecs, that runs as an ECS service or as a task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OtherController {
    /// Its ECS service, or its task.
    pub runs_as: RunsAs,
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
    /// How its tasks get their tokens.
    pub token: TokenSource,
}

/// What Consul has registered for the tasks of a cluster.
#[derive(Debug, Clone, Default)]
pub struct CatalogReading {
    /// The node of the cluster, by partition.
    pub nodes: Vec<NodeReading>,
    /// The instances of services, sidecar proxies and gateways.
    pub instances: Vec<ServiceInstance>,
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

impl ObservedCluster {
    /// A cluster before anything was sorted. `names` are the names of the secrets of its tokens.
    pub(crate) fn new(
        arn: ClusterArn,
        names: SecretNames,
        definitions: BTreeMap<TaskDefinitionArn, Arc<TaskDefinition>>,
    ) -> Self {
        Self {
            arn,
            names,
            definitions,
            services: Vec::new(),
            tasks: Vec::new(),
            others: BTreeSet::new(),
            outside: Outside::default(),
            controllers: Vec::new(),
            unsorted: BTreeSet::new(),
            catalog: None,
        }
    }

    fn token_settings(&self) -> TokenSettings<'_> {
        TokenSettings { mode: TokenMode::Auto, names: &self.names }
    }

    pub(crate) fn token_source(&self, member: &MemberTask) -> TokenSource {
        TokenSource::of(&member.definition, &member.identity, self.token_settings())
    }

    /// Keeps the listed tasks that ECS does not describe: its answers lag behind each other, so they may run.
    pub(crate) fn keep_undescribed(
        &mut self,
        listed: &BTreeSet<TaskArn>,
        described: &[DescribedTask],
        problems: &mut Vec<String>,
    ) {
        let described: BTreeSet<&TaskArn> = described.iter().map(|task| &task.arn).collect();
        for task in listed.iter().filter(|task| !described.contains(task)) {
            problems.push(format!("task {}: ECS lists it but does not describe it. Ask again", task.id()));
            self.unsorted.insert(task.id().clone());
            self.others.insert(task.id().clone());
        }
    }

    /// Tells the mesh's tasks and ECS services from others. Definitions that are not valid are added to `problems`.
    pub(crate) fn sort(
        &mut self,
        tasks: Vec<DescribedTask>,
        services: Vec<ServiceState>,
        default_tenancy: &Tenancy,
        problems: &mut Vec<String>,
    ) {
        self.controllers = controllers(&tasks, &services, &self.definitions);
        for task in tasks {
            let Some(arn) = task.definition.clone() else {
                self.others.insert(task.arn.id().clone());
                self.outside.tasks.push(Arc::new(task));
                continue;
            };
            let definition = self.definitions.get(&arn).cloned();
            match definition.as_ref().map(|it| it.classify(Some(&task.tags), default_tenancy, self.token_settings())) {
                Some(Classification::Member(identity)) => self.tasks.extend(definition.map(|definition| MemberTask {
                    cluster: self.arn.clone(),
                    task: Arc::new(task).with_containers_of(&definition),
                    definition,
                    identity,
                    is_enterprise: default_tenancy.partition().is_some(),
                })),
                classification => {
                    let id = task.arn.id().clone();
                    if !matches!(classification, Some(Classification::Outside)) {
                        self.unsorted.insert(id.clone());
                    }
                    if let Some(Classification::Invalid(invalid)) = classification {
                        add_invalid(&arn, &invalid, problems);
                    }
                    self.others.insert(id);
                    self.outside.tasks.push(Arc::new(task));
                }
            }
        }
        for state in services {
            match self.service(&state, default_tenancy, problems) {
                Some((service, token)) => self.services.push(MemberService { state, service, token }),
                None => self.outside.services.push(state),
            }
        }
    }

    /// The service in Consul of an ECS service, and how its tasks get their tokens. It is in the mesh if its tasks are, or if its
    /// definition is.
    fn service(
        &self,
        state: &ServiceState,
        default_tenancy: &Tenancy,
        problems: &mut Vec<String>,
    ) -> Option<(MeshService, TokenSource)> {
        if let Some(member) = self.tasks.iter().find(|it| it.task.placement.service.as_ref() == Some(&state.name)) {
            return Some((member.identity.service.clone(), self.token_source(member)));
        }
        let definition = self.definition_of(state)?;
        match definition.classify(Some(&Tags::default()), default_tenancy, self.token_settings()) {
            Classification::Member(identity) => {
                let token = TokenSource::of(definition, &identity, self.token_settings());
                Some((identity.service, token))
            }
            Classification::Invalid(invalid) => {
                add_invalid(&definition.arn, &invalid, problems);
                None
            }
            Classification::Outside | Classification::TagsUnknown => None,
        }
    }

    /// The revision of the tasks of a service; `None` if it could not be read, or with an external deployment controller.
    pub(crate) fn definition_of(&self, state: &ServiceState) -> Option<&Arc<TaskDefinition>> {
        self.definitions.get(state.definition.as_ref()?)
    }
}

fn add_invalid(definition: &TaskDefinitionArn, invalid: &InvalidField, problems: &mut Vec<String>) {
    let problem = format!("task definition {definition}: {invalid}");
    if !problems.contains(&problem) {
        problems.push(problem);
    }
}

/// The controllers of consul-ecs that run, or that a service wants to run.
fn controllers(
    tasks: &[DescribedTask],
    services: &[ServiceState],
    definitions: &BTreeMap<TaskDefinitionArn, Arc<TaskDefinition>>,
) -> Vec<OtherController> {
    let image = |definition: &TaskDefinitionArn| {
        let definition = definitions.get(definition)?;
        definition.image_of(definition.programs.controller.as_ref()?).map(str::to_owned)
    };
    let wanted = services.iter().filter(|service| service.desired > 0).filter_map(|service| {
        let image = image(service.definition.as_ref()?)?;
        Some(OtherController { runs_as: RunsAs::Service(service.name.clone()), image })
    });
    let running = tasks.iter().filter(|task| task.phase == TaskPhase::Active).filter_map(|task| {
        let runs_as = match &task.placement.service {
            Some(service) => RunsAs::Service(service.clone()),
            None => RunsAs::Task(task.arn.id().clone()),
        };
        Some(OtherController { runs_as, image: image(task.definition.as_ref()?)? })
    });
    // A service may run several tasks, of several images during a deployment.
    let mut found: Vec<OtherController> = wanted.chain(running).collect();
    found.sort();
    found.dedup_by(|a, b| a.runs_as == b.runs_as);
    found
}
