//! A cluster as it was inspected: which tasks and ECS services are in the mesh, which are controllers of it, and what Consul has of
//! them.

use std::{collections::BTreeSet, sync::Arc};

use aws::ecs::ServiceState;
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn, TaskId},
    definition::{Classification, MeshIdentity, Tags, TaskDefinition},
    member::MemberTask,
    secret_name::SecretNames,
    settings::{TokenMode, TokenSettings},
    task::{DescribedTask, TaskPhase},
    tenancy::Tenancy,
};

use crate::{
    definitions::Definitions,
    inspection::{CatalogReading, InspectionError},
};

#[derive(Debug, Clone)]
pub struct InspectedCluster {
    pub arn: ClusterArn,
    /// How the secrets of its tokens are named.
    pub names: SecretNames,
    /// The definitions of its tasks and services.
    pub definitions: Definitions,
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
    /// Who its tasks are.
    pub identity: MeshIdentity,
    /// Their revision.
    pub definition: Arc<TaskDefinition>,
}

impl InspectedCluster {
    /// A cluster before anything was sorted. `names` are the names of the secrets of its tokens.
    pub fn new(arn: ClusterArn, names: SecretNames, definitions: Definitions) -> Self {
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

    /// What decides how its tasks get their tokens.
    pub fn token_settings(&self) -> TokenSettings<'_> {
        TokenSettings { mode: TokenMode::Auto, names: &self.names }
    }

    /// Keeps the listed tasks that ECS does not describe: its answers lag behind each other, so they may run.
    pub fn keep_undescribed<'a>(
        &mut self,
        tasks: impl IntoIterator<Item = &'a TaskArn>,
        problems: &mut Vec<InspectionError>,
    ) {
        for task in tasks {
            problems.push(InspectionError::NotDescribed(task.id().clone()));
            self.unsorted.insert(task.id().clone());
            self.others.insert(task.id().clone());
        }
    }

    /// Tells the mesh's tasks and ECS services from others. Definitions that are not valid are added to `problems`.
    pub(crate) fn sort(
        &mut self,
        tasks: Vec<Arc<DescribedTask>>,
        services: Vec<ServiceState>,
        default_tenancy: &Tenancy,
        problems: &mut Vec<InspectionError>,
    ) {
        self.controllers = controllers(&tasks, &services, &self.definitions);
        for task in tasks {
            let settings = self.token_settings();
            let classified = self.definitions.classify_task(&task, &task.tags, default_tenancy, settings);
            let definition = self.definitions.of_task(&task).cloned();
            if let (Ok(Classification::Member(identity)), Some(definition)) = (&classified, &definition) {
                let (definition, is_enterprise) = (Arc::clone(definition), default_tenancy.partition().is_some());
                self.tasks.push(MemberTask::new(self.arn.clone(), task, definition, identity.clone(), is_enterprise));
                continue;
            }
            let id = task.arn.id().clone();
            if !matches!(classified, Ok(Classification::Outside)) {
                self.unsorted.insert(id.clone());
            }
            if let (Ok(Classification::Invalid(invalid)), Some(definition)) = (classified, definition) {
                problems.push(InspectionError::Invalid(definition.arn.clone(), invalid));
            }
            self.others.insert(id);
            self.outside.tasks.push(task);
        }
        for state in services {
            match self.member(&state, default_tenancy, problems) {
                Some((identity, definition)) => self.services.push(MemberService { state, identity, definition }),
                None => self.outside.services.push(state),
            }
        }
    }

    /// Who the tasks of an ECS service are, and their revision. It is in the mesh if its tasks are, or if its definition is.
    fn member(
        &self,
        state: &ServiceState,
        default_tenancy: &Tenancy,
        problems: &mut Vec<InspectionError>,
    ) -> Option<(MeshIdentity, Arc<TaskDefinition>)> {
        if let Some(member) = self.tasks.iter().find(|it| it.task.placement.service.as_ref() == Some(&state.name)) {
            return Some((member.identity.clone(), Arc::clone(&member.definition)));
        }
        let definition = self.definition_of(state)?;
        match definition.classify(Some(&Tags::default()), default_tenancy, self.token_settings()) {
            Classification::Member(identity) => Some((identity, Arc::clone(definition))),
            Classification::Invalid(invalid) => {
                problems.push(InspectionError::Invalid(definition.arn.clone(), invalid));
                None
            }
            Classification::Outside | Classification::TagsUnknown => None,
        }
    }

    /// The revision of the tasks of a service; `None` if it could not be read, or with an external deployment controller.
    pub fn definition_of(&self, state: &ServiceState) -> Option<&Arc<TaskDefinition>> {
        self.definitions.get(state.definition.as_ref()?)
    }
}

/// The controllers of consul-ecs that run, or that a service wants to run.
fn controllers(
    tasks: &[Arc<DescribedTask>],
    services: &[ServiceState],
    definitions: &Definitions,
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
