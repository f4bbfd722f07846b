//! Observing: what ECS says of tasks, and what Consul holds of those that stop.
//!
//! A part that could not be read is an error of the tasks that it concerns, never an absence.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use futures::{StreamExt, TryStreamExt, future::try_join_all, stream};

use super::{CONCURRENCY, Controller, ControllerError, DESCRIBED_AT_ONCE, Deadline, ECS_LAG};
use crate::{
    consul::Consul,
    ecs::EcsError,
    mesh::{
        arn::{ClusterArn, TaskArn, TaskDefinitionArn, TaskId},
        identity::TaskDefinition,
        idleness::ServiceTask,
        phase::TaskPhase,
        plan::Observed,
        tags::Tags,
        task::{DescribedTask, MeshTask, TaskChange},
        tenancy::Tenancy,
    },
};

/// Why each task that failed did.
pub(super) type Failures = BTreeMap<TaskArn, Arc<ControllerError>>;

type Definitions = BTreeMap<TaskDefinitionArn, Result<Arc<TaskDefinition>, Arc<ControllerError>>>;

impl Controller {
    /// The mesh tasks among `changes`. Those whose identity could not be read are in the failures; those that are not
    /// in the mesh are in neither.
    pub(super) async fn mesh_tasks(&self, changes: &[TaskChange], deadline: Deadline) -> (Vec<MeshTask>, Failures) {
        let arns = changes.iter().map(|change| &change.definition).collect();
        let definitions = self.definitions(arns, deadline).await;
        let (task_tags, mut failures) = self.open_task_tags(changes, &definitions, deadline).await;
        let mut tasks = Vec::new();
        for change in changes {
            if failures.contains_key(&change.arn) {
                continue;
            }
            match self.mesh_task(change, task_tags.get(&change.arn), &definitions) {
                Ok(task) => tasks.extend(task),
                Err(error) => drop(failures.insert(change.arn.clone(), error)),
            }
        }
        (tasks, failures)
    }

    fn mesh_task(
        &self,
        change: &TaskChange,
        tags: Option<&Tags>,
        definitions: &Definitions,
    ) -> Result<Option<MeshTask>, Arc<ControllerError>> {
        let task = |tenancy: &Tenancy, identity| MeshTask {
            arn: change.arn.clone(),
            cluster: change.cluster.clone(),
            phase: change.phase,
            tenancy: tenancy.clone(),
            identity,
        };
        match definitions.get(&change.definition) {
            // Only its tags can tell, and ECS does not describe it.
            Some(Ok(definition)) if definition.leaves_mesh_open() && tags.is_none() => match change.phase {
                // What it left in Consul bears its ID.
                TaskPhase::Stopped => Ok(Some(task(&self.scope.default_tenancy, None))),
                _ if self.edges.clock.now().duration_since(change.time) < ECS_LAG => {
                    Err(Arc::new(ControllerError::NotDescribedYet(change.arn.clone())))
                }
                _ => Ok(None),
            },
            Some(Ok(definition)) => {
                let identity = definition
                    .identify(&tags.cloned().unwrap_or_default(), &self.scope.default_tenancy)
                    .map_err(|e| {
                        self.edges.ecs.forget(&change.definition);
                        Arc::new(ControllerError::from(e))
                    })?;
                Ok(identity.map(|identity| task(&identity.service.tenancy.clone(), Some(identity))))
            }
            // The same where its definition is gone.
            Some(Err(error)) if change.phase == TaskPhase::Stopped && is_unknown_definition(error) => {
                Ok(Some(task(&self.scope.default_tenancy, None)))
            }
            Some(Err(error)) => Err(Arc::clone(error)),
            None => Ok(None),
        }
    }

    async fn definitions(&self, arns: BTreeSet<&TaskDefinitionArn>, deadline: Deadline) -> Definitions {
        let reads = arns.into_iter().map(|arn| async move {
            let definition = deadline.run(self.edges.ecs.task_definition(arn)).await;
            (arn.clone(), definition.map_err(Arc::new))
        });
        stream::iter(reads).buffer_unordered(CONCURRENCY).collect().await
    }

    /// The own tags of tasks whose definitions do not say whether they are in the mesh.
    async fn open_task_tags(
        &self,
        changes: &[TaskChange],
        definitions: &Definitions,
        deadline: Deadline,
    ) -> (BTreeMap<TaskArn, Tags>, Failures) {
        let mut open: BTreeMap<&ClusterArn, Vec<TaskArn>> = BTreeMap::new();
        for change in changes {
            if matches!(definitions.get(&change.definition), Some(Ok(definition)) if definition.leaves_mesh_open()) {
                open.entry(&change.cluster).or_default().push(change.arn.clone());
            }
        }
        let (mut tags, mut failures) = (BTreeMap::new(), Failures::new());
        for (cluster, tasks) in open {
            match deadline.run(self.edges.ecs.describe_tasks(cluster, &tasks)).await {
                Ok(described) => tags.extend(described.into_iter().map(|task| (task.arn, task.tags))),
                Err(error) => failures.extend(blame(&tasks, error)),
            }
        }
        (tags, failures)
    }

    /// What Consul holds of the stopping and stopped ones among `tasks`. Tasks of which some part could not be read
    /// are in the failures, and not in the observation.
    pub(super) async fn observe(&self, tasks: Vec<MeshTask>, deadline: Deadline) -> (Observed, Failures) {
        let (mut observed, mut failures) = (Observed::default(), Failures::new());
        for (tenancy, stopped) in by_partition(&tasks) {
            match deadline.run(self.edges.consul.tokens(&tenancy)).await {
                Ok(tokens) => observed.tokens.extend(tokens),
                Err(error) => failures.extend(blame(&stopped, error)),
            }
        }
        for ((cluster, tenancy), ending) in by_node(&tasks) {
            match deadline.run(self.catalog_of(&cluster, &tenancy, &ending, &mut observed)).await {
                Ok(()) => {}
                Err(error) => failures.extend(blame(ending.iter().map(|task| &task.arn), error)),
            }
        }
        observed.tasks = tasks.into_iter().filter(|task| !failures.contains_key(&task.arn)).collect();
        (observed, failures)
    }

    async fn catalog_of(
        &self,
        cluster: &ClusterArn,
        tenancy: &Tenancy,
        ending: &[&MeshTask],
        observed: &mut Observed,
    ) -> Result<(), ControllerError> {
        let consul: &dyn Consul = self.edges.consul.as_ref();
        let ids: Vec<TaskId> = ending.iter().map(|task| task.arn.id().clone()).collect();
        let instances = consul.instances(cluster, tenancy, &ids).await?;
        let is_stopping = |id: &TaskId| ending.iter().any(|t| t.phase == TaskPhase::Stopping && t.arn.id() == id);
        let draining: Vec<_> = instances.iter().filter(|instance| is_stopping(&instance.task)).cloned().collect();
        observed.checks.extend(consul.checks(&draining).await?);
        observed.instances.extend(instances);
        Ok(())
    }

    /// Every task of every configured cluster, with the services that each may be an instance of.
    ///
    /// # Errors
    /// Anything that could not be read: a service is idle only if that is proven.
    pub(super) async fn all_service_tasks(&self) -> Result<Vec<ServiceTask>, ControllerError> {
        let clusters = self.scope.clusters.iter().map(|cluster| self.described_tasks(cluster));
        let tasks: Vec<DescribedTask> = try_join_all(clusters).await?.concat();
        let arns: BTreeSet<TaskDefinitionArn> = tasks.iter().map(|task| task.definition.clone()).collect();
        let definitions: BTreeMap<_, _> = stream::iter(arns)
            .map(|arn| async move {
                match self.edges.ecs.task_definition(&arn).await {
                    Ok(definition) => Ok((arn, Some(definition))),
                    Err(EcsError::UnknownTaskDefinition(_)) => Ok((arn, None)),
                    Err(error) => Err(ControllerError::from(error)),
                }
            })
            .buffer_unordered(CONCURRENCY)
            .try_collect()
            .await?;
        tasks.into_iter().map(|task| self.service_task(task, &definitions)).collect()
    }

    async fn described_tasks(&self, cluster: &ClusterArn) -> Result<Vec<DescribedTask>, EcsError> {
        let listed = self.edges.ecs.list_tasks(cluster).await?;
        let pages = listed.chunks(DESCRIBED_AT_ONCE).map(|page| self.edges.ecs.describe_tasks(cluster, page));
        let described: Vec<Vec<DescribedTask>> =
            stream::iter(pages).buffer_unordered(CONCURRENCY).try_collect().await?;
        Ok(described.concat())
    }

    fn service_task(
        &self,
        task: DescribedTask,
        definitions: &BTreeMap<TaskDefinitionArn, Option<Arc<TaskDefinition>>>,
    ) -> Result<ServiceTask, ControllerError> {
        let mut services = Vec::new();
        match definitions.get(&task.definition) {
            Some(Some(definition)) => {
                for tags in [&task.tags, &Tags::default()] {
                    // A living task with illegal tags never had a token; it cannot lose one.
                    let identity = definition.identify(tags, &self.scope.default_tenancy).ok().flatten();
                    services.extend(identity.map(|identity| identity.service));
                }
            }
            _ if task.phase.is_living() => {
                return Err(EcsError::UnknownTaskDefinition(task.definition).into());
            }
            _ => {}
        }
        Ok(ServiceTask { arn: task.arn, phase: task.phase, stopped_at: task.stopped_at, services })
    }
}

fn is_unknown_definition(error: &ControllerError) -> bool {
    matches!(error, ControllerError::Ecs(EcsError::UnknownTaskDefinition(_)))
}

/// The same reason for each of `tasks`.
pub(super) fn blame<'a>(tasks: impl IntoIterator<Item = &'a TaskArn>, error: ControllerError) -> Failures {
    let error = Arc::new(error);
    tasks.into_iter().map(|task| (task.clone(), Arc::clone(&error))).collect()
}

/// The stopped tasks by the partition whose tokens have to be listed.
fn by_partition(tasks: &[MeshTask]) -> Vec<(Tenancy, Vec<TaskArn>)> {
    let mut groups: BTreeMap<_, (Tenancy, Vec<TaskArn>)> = BTreeMap::new();
    for task in tasks.iter().filter(|task| task.phase == TaskPhase::Stopped) {
        let group =
            groups.entry(task.tenancy.partition().cloned()).or_insert_with(|| (task.tenancy.clone(), Vec::new()));
        group.1.push(task.arn.clone());
    }
    groups.into_values().collect()
}

/// The stopping and stopped tasks by the catalog node and tenancy that hold their instances.
fn by_node(tasks: &[MeshTask]) -> BTreeMap<(ClusterArn, Tenancy), Vec<&MeshTask>> {
    let mut groups: BTreeMap<_, Vec<&MeshTask>> = BTreeMap::new();
    for task in tasks.iter().filter(|task| task.phase != TaskPhase::Active) {
        groups.entry((task.cluster.clone(), task.tenancy.clone())).or_default().push(task);
    }
    groups
}
