//! A cluster as it was inspected: which tasks and ECS services are in the mesh, which are controllers of it, and what Consul has of
//! them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use aws::ecs::{EcsError, RunningService, ServiceState};
use consul::{ConsulError, OutlierDetection};
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn, TaskId},
    catalog::{HealthCheck, ServiceInstance},
    consul_ecs::{MESH_TAG, MeshConfig},
    definition::{Classification, TaskDefinition},
    identity::{MeshIdentity, MeshService},
    member::MemberTask,
    names::InvalidField,
    permissions::Permission,
    repair::NodeReading,
    secret_name::SecretNames,
    settings::{TokenMode, TokenSettings},
    tags::Tags,
    task::{ContainerEnd, DescribedTask, TaskPhase},
    tenancy::Tenancy,
};

use report::Cause;

use crate::{definitions::Definitions, error::CallError, tasks::ListedTasks};

/// Why something could not be read, or is not known.
#[derive(Debug, Clone, thiserror::Error)]
pub enum InspectionError {
    #[error(transparent)]
    Call(#[from] CallError),
    /// The token may not read the catalog. Consul leaves out what it may not read, and only newer versions say so.
    #[error("the catalog could not be read: the token lacks {0:?}")]
    CatalogNotPermitted(Vec<Permission>),
    /// The token may not read ACL tokens.
    #[error("tokens could not be read: the token lacks {0}")]
    TokensNotPermitted(Permission),
    /// ECS lists the task, but does not describe it: its answers lag behind each other, so it may run.
    #[error("task {0} is listed but not described")]
    NotDescribed(TaskId),
    /// The mesh's tasks of a definition are not known, because it has an invalid tag or name.
    #[error("task definition {0}: {1}")]
    Invalid(TaskDefinitionArn, InvalidField),
}

impl InspectionError {
    /// The cause, where what helps follows from it.
    pub fn cause(&self) -> Option<Cause> {
        let permission = match self {
            Self::Call(error) => return error.cause(),
            Self::CatalogNotPermitted(missing) => {
                let rules: Vec<String> = missing.iter().map(ToString::to_string).collect();
                rules.join(" and ")
            }
            Self::TokensNotPermitted(missing) => missing.to_string(),
            Self::NotDescribed(_) | Self::Invalid(..) => return None,
        };
        Some(Cause::Denied { permission: Some(permission) })
    }
}

impl From<ConsulError> for InspectionError {
    fn from(error: ConsulError) -> Self {
        Self::Call(error.into())
    }
}

impl From<EcsError> for InspectionError {
    fn from(error: EcsError) -> Self {
        Self::Call(error.into())
    }
}

#[derive(Debug, Clone)]
pub struct InspectedCluster {
    pub arn: ClusterArn,
    /// How the secrets of its tokens are named.
    pub names: SecretNames,
    /// The definitions of its tasks and services.
    pub definitions: Definitions,
    /// Its tasks, as ECS listed them.
    pub listed: ListedTasks,
    /// The ECS services of the mesh.
    pub services: Vec<MemberService>,
    /// The tasks of the mesh, those included that have stopped within about an hour.
    pub tasks: Vec<MemberTask>,
    /// The containers that AWS adds to living tasks of the mesh, and that did not start.
    pub added: Vec<(TaskId, ContainerEnd)>,
    /// The other tasks: outside the mesh, or not described, or of a definition that could not be read.
    pub others: BTreeSet<TaskId>,
    /// The services and tasks that are not in the mesh.
    pub outside: Outside,
    /// The tasks outside the mesh whose revision has lost the mesh tag.
    pub untagged: Vec<UntaggedTask>,
    /// The controllers of consul-ecs.
    pub controllers: Vec<OtherController>,
    /// The other tasks that may be in the mesh: ECS does not describe them, or their definition could not be read.
    pub unsorted: BTreeSet<TaskId>,
    /// What Consul has registered for the cluster; `None` if that could not be read.
    pub catalog: Option<CatalogReading>,
    /// The outlier detection that Consul has for the services whose tasks bring some, if Consul was asked.
    pub outlier_detection: BTreeMap<MeshService, Result<Option<OutlierDetection>, ConsulError>>,
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

/// The services and tasks of a cluster that are not in the mesh.
#[derive(Debug, Clone, Default)]
pub struct Outside {
    pub services: Vec<ServiceState>,
    pub tasks: Vec<Arc<DescribedTask>>,
}

/// A task outside the mesh whose revision has lost the mesh tag: `DescribeTaskDefinition` returns tags only on demand, so that a
/// pipeline that registers a copy of a revision drops them.
#[derive(Debug, Clone)]
pub struct UntaggedTask {
    /// The task, as what the earlier revision says that it is.
    pub member: MemberTask,
    /// The earlier revision, which has the tag.
    pub tagged: TaskDefinitionArn,
}

impl UntaggedTask {
    /// What was lost, as a part of a sentence.
    pub fn loss(&self) -> String {
        lost_tag(&self.member.definition.arn, &self.tagged)
    }
}

/// That a revision has lost the tag of an earlier one, as a part of a sentence.
pub fn lost_tag(revision: &TaskDefinitionArn, tagged: &TaskDefinitionArn) -> String {
    format!("revision {} lost the tag {MESH_TAG} that revision {} had", revision.revision(), tagged.revision())
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
            listed: ListedTasks::default(),
            services: Vec::new(),
            tasks: Vec::new(),
            added: Vec::new(),
            others: BTreeSet::new(),
            outside: Outside::default(),
            untagged: Vec::new(),
            controllers: Vec::new(),
            unsorted: BTreeSet::new(),
            catalog: None,
            outlier_detection: BTreeMap::new(),
        }
    }

    /// The revisions of the mesh that services want and living tasks run, each with the service of its tasks. A revision may be there
    /// several times.
    pub fn revisions(&self) -> impl Iterator<Item = (&MeshService, &Arc<TaskDefinition>)> {
        let wanted = self.services.iter().map(|service| (&service.identity.service, &service.definition));
        let living = self.tasks.iter().filter(|member| member.task.phase.is_living());
        wanted.chain(living.map(|member| (&member.identity.service, &member.definition)))
    }

    /// The same with their configurations, of those whose configuration can be read.
    pub fn configured_revisions(&self) -> impl Iterator<Item = (&MeshService, &Arc<TaskDefinition>, &MeshConfig)> {
        self.revisions().filter_map(|(service, definition)| {
            let config = definition.programs.registrar.as_ref()?.config()?.as_ref().ok()?;
            Some((service, definition, config.as_ref()))
        })
    }

    /// The revisions whose `mesh-init` writes outlier detection to Consul, with these settings.
    pub fn brought_outlier_detection(
        &self,
    ) -> impl Iterator<Item = (&MeshService, &Arc<TaskDefinition>, &BTreeMap<String, i64>)> {
        let configured = self.configured_revisions();
        configured.filter_map(|(service, definition, config)| Some((service, definition, config.outlier_detection()?)))
    }

    /// The services that ECS runs in it, as the auditor reads them.
    pub fn audited_services(&self) -> impl Iterator<Item = &RunningService> {
        let members = self.services.iter().map(|service| &service.state);
        members.chain(&self.outside.services).map(|state| &state.audited)
    }

    /// The revisions of its tasks that are meant to run.
    pub fn running_definitions(&self) -> impl Iterator<Item = &TaskDefinitionArn> {
        let running = self.listed.described.iter().filter(|task| task.phase == TaskPhase::Active);
        running.filter_map(|task| task.definition.as_ref())
    }

    /// Whether its tasks run the revision with this ARN, or its services want them to.
    pub fn uses(&self, definition: &str) -> bool {
        let is_wanted = |service: &RunningService| service.task_definitions.contains(definition);
        self.running_definitions().any(|arn| arn.as_str() == definition) || self.audited_services().any(is_wanted)
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
                if task.phase.is_living() {
                    let added = task.added_that_did_not_start(&definition).cloned();
                    self.added.extend(added.map(|end| (task.arn.id().clone(), end)));
                }
                self.tasks.push(MemberTask::new(self.arn.clone(), task, definition, identity.clone(), is_enterprise));
                continue;
            }
            let id = task.arn.id().clone();
            if matches!(classified, Ok(Classification::Outside)) {
                self.untagged.extend(self.untagged(&task, default_tenancy));
            } else {
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

    /// A task outside the mesh, if its revision has lost the mesh tag.
    fn untagged(&self, task: &Arc<DescribedTask>, default_tenancy: &Tenancy) -> Option<UntaggedTask> {
        let definition = self.definitions.of_task(task).filter(|it| it.is_untagged())?;
        // A tag of the task itself, with another value than true, is no loss.
        task.tags.get(MESH_TAG).is_none().then_some(())?;
        let tagged = self.definitions.tagged_before(&definition.arn)?;
        let classified = tagged.classify(Some(&task.tags), default_tenancy, self.token_settings());
        let Classification::Member(identity) = classified else { return None };
        let (task, definition, is_enterprise) =
            (Arc::clone(task), Arc::clone(definition), default_tenancy.partition().is_some());
        let member = MemberTask::new(self.arn.clone(), task, definition, identity, is_enterprise);
        Some(UntaggedTask { member, tagged: tagged.arn.clone() })
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
