//! Reads tasks, their definitions and their clusters from ECS.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use aws::ecs::{ClusterStatus, DESCRIBE_LIMIT, EcsError, TaskList};
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    definition::Classification,
    existence::{Answers, DESCRIBED_FOR, Existence},
    identity::MeshIdentity,
    idleness::TaskListing,
    scope::BootstrapExtent,
    settings::TokenMode,
    tags::Tags,
    task::{DescribedTask, MeshTask, TaskChange},
    time::elapsed,
};
use tracing::warn;

use crate::{
    clock::Deadline,
    concurrency::{concurrently, try_concurrently, try_concurrently_in_order},
    definitions::Definitions,
    ecs_reading::EcsReading,
    edges::EcsReads,
    error::CallError,
    observer::Observer,
};

/// The statuses of clusters, or why they could not be read.
pub type ClusterStatuses = Result<BTreeMap<ClusterArn, ClusterStatus>, CallError>;

/// The tasks of clusters in ECS.
pub(crate) type ClusterTasks = BTreeMap<ClusterArn, Vec<Arc<DescribedTask>>>;

/// The existing clusters whose names differ only in case: Consul takes them for one node, so that entries of one would be judged by
/// the tasks of the other.
pub fn namesakes(statuses: &BTreeMap<ClusterArn, ClusterStatus>) -> BTreeSet<ClusterArn> {
    let existing = || statuses.iter().filter(|(_, status)| matches!(status, ClusterStatus::Active { .. }));
    let has_namesake = |cluster: &ClusterArn| existing().any(|(other, _)| cluster.is_namesake_of(other));
    existing().map(|(cluster, _)| cluster).filter(|cluster| has_namesake(cluster)).cloned().collect()
}

impl Observer {
    /// Logs once that the deployment's settings do not give tasks of a definition what they need.
    pub(crate) fn log_contradiction(
        &self,
        arn: &TaskDefinitionArn,
        definitions: &Definitions,
        identity: &MeshIdentity,
    ) {
        let runs_client_agent = definitions.get(arn).is_some_and(|definition| definition.runs_client_agent());
        let of_agent = || self.unsupported_agent(runs_client_agent, identity);
        let Some(reason) = self.scope.tokens().contradiction(identity).or_else(of_agent) else { return };
        if self.contradictions.get(arn).is_none() {
            self.contradictions.insert(arn.clone(), self.clock.now());
            warn!(task_definition = arn.as_str(), service = %identity.service.name, outcome = "contradiction", reason);
        }
    }

    /// Why the client agent of a task cannot log in: consul-ecs 0.5 and 0.6 need the auth method of client agents.
    fn unsupported_agent(&self, runs_client_agent: bool, identity: &MeshIdentity) -> Option<&'static str> {
        let logs_in = runs_client_agent && self.scope.tokens().read(identity).is_empty();
        let is_missing = self.scope.token_mode != TokenMode::SecretsManager
            && self.scope.bootstrap.extent == BootstrapExtent::Dataplane;
        (logs_in && is_missing).then_some("its Consul client agent logs in, which needs Bootstrap full")
    }

    /// The clusters with a name in the settings, and those that ECS lists for a pattern.
    pub async fn clusters(&self) -> Result<BTreeSet<ClusterArn>, EcsError> {
        let selection = &self.scope.clusters;
        let mut clusters: BTreeSet<ClusterArn> = selection.named().collect();
        if selection.has_wildcard() {
            let listed = self.ecs.list_clusters().await?;
            clusters.extend(listed.into_iter().filter(|cluster| selection.contains(cluster)));
        }
        Ok(clusters)
    }

    /// Begins to read clusters: the statuses of those in the settings, and of those among `more` that the settings select.
    pub async fn begin(&self, more: &[ClusterArn], deadline: Deadline) -> EcsReading {
        let began = self.clock.now();
        EcsReading::new(began, self.cluster_statuses(more, deadline).await)
    }

    /// The statuses alone.
    pub async fn cluster_statuses(&self, more: &[ClusterArn], deadline: Deadline) -> ClusterStatuses {
        let read = async {
            let mut clusters = self.clusters().await?;
            clusters.extend(more.iter().filter(|cluster| self.scope.clusters.contains(cluster)).cloned());
            self.ecs.cluster_statuses(&Vec::from_iter(clusters)).await
        };
        deadline.run(read).await
    }

    /// Task definitions, each once.
    pub async fn definitions(
        &self,
        arns: impl IntoIterator<Item = &TaskDefinitionArn>,
        deadline: Deadline,
    ) -> Definitions {
        read_definitions(self.ecs.as_ref(), arns, deadline).await
    }

    /// Lists every task of every cluster, with what decides which tokens each may use; `None` without any cluster, which
    /// proves nothing.
    ///
    /// # Errors
    /// Any failed read: a service is idle only if every cluster was read.
    pub async fn list_all_tasks(&self, deadline: Deadline) -> Result<Option<TaskListing>, CallError> {
        let listed_at = self.clock.now();
        let clusters = self.clusters().await?;
        if clusters.is_empty() {
            return Ok(None);
        }
        let reads = clusters.into_iter().map(|cluster| async move {
            let tasks = self.tasks_of_existing(&cluster).await?;
            Ok::<_, CallError>((cluster, tasks))
        });
        let clusters: ClusterTasks = try_concurrently(reads).await?.into_iter().collect();
        let arns = clusters.values().flatten().filter_map(|task| task.definition.as_ref());
        let definitions = self.definitions(arns, deadline).await;
        Ok(Some(TaskListing { listed_at, tasks: self.listed_tasks(&clusters, &definitions)? }))
    }

    /// The tasks of a cluster, which are none if the cluster was deleted.
    async fn tasks_of_existing(&self, cluster: &ClusterArn) -> Result<Vec<Arc<DescribedTask>>, EcsError> {
        match self.tasks_of(cluster).await {
            Err(EcsError::UnknownCluster(_) | EcsError::NotDescribed(_)) if self.is_deleted(cluster).await? => {
                Ok(Vec::new())
            }
            tasks => tasks,
        }
    }

    /// What ECS says of these tasks of a cluster, which it may have deleted.
    pub async fn answers(&self, cluster: &ClusterArn, tasks: &[TaskArn]) -> Result<Answers, EcsError> {
        match self.describe_all(cluster, tasks).await {
            Ok(described) => Ok(described.into_iter().collect()),
            Err(EcsError::UnknownCluster(_)) if self.is_deleted(cluster).await? => {
                Ok(Answers::of_deleted(cluster.clone()))
            }
            Err(error) => Err(error),
        }
    }

    /// Whether ECS has deleted the cluster.
    pub(crate) async fn is_deleted(&self, cluster: &ClusterArn) -> Result<bool, EcsError> {
        let statuses = self.ecs.cluster_statuses(std::slice::from_ref(cluster)).await?;
        Ok(statuses.get(cluster) == Some(&ClusterStatus::Deleted))
    }

    /// The tasks of a cluster. ECS may drop a stopped task between its answers.
    ///
    /// # Errors
    /// [`EcsError::NotDescribed`] if a running task is not described: it must not be treated as missing.
    pub(crate) async fn tasks_of(&self, cluster: &ClusterArn) -> Result<Vec<Arc<DescribedTask>>, EcsError> {
        list_tasks(self.ecs.as_ref(), cluster).await?.whole()
    }

    /// Describes tasks of a cluster in concurrent calls for up to 100 each.
    pub(crate) async fn describe_all(
        &self,
        cluster: &ClusterArn,
        tasks: &[TaskArn],
    ) -> Result<Vec<Arc<DescribedTask>>, EcsError> {
        describe_all(self.ecs.as_ref(), cluster, tasks).await
    }

    /// Every task, with what decides which tokens it may use.
    ///
    /// # Errors
    /// The definition of a task that is not stopped could not be read.
    pub(crate) fn listed_tasks(
        &self,
        clusters: &ClusterTasks,
        definitions: &Definitions,
    ) -> Result<Vec<MeshTask>, CallError> {
        let tasks = clusters.iter().flat_map(|(cluster, tasks)| tasks.iter().map(move |task| (cluster, task)));
        let listed = tasks.map(|(cluster, task)| {
            let tenancy = self.scope.tenancy_of(cluster);
            let identity = |tags: &Tags| match definitions.classify_task(task, tags, tenancy, self.scope.tokens()) {
                Ok(Classification::Member(identity)) => Ok(Some(identity)),
                // A task with invalid tags never had a token.
                Ok(_) => Ok(None),
                // The identity of a stopped task is used only within the grace period, while ECS still has its definition.
                Err(error) if error.is_unknown_definition() && !task.phase.is_living() => Ok(None),
                Err(error) => Err(error),
            };
            let identity_by_definition = identity(&Tags::default())?;
            Ok(MeshTask { identity_by_definition, ..self.mesh_task(cluster, task, identity(&task.tags)?, definitions) })
        });
        listed.collect()
    }

    /// A described task with its identity, as a plan sees it.
    pub(crate) fn mesh_task(
        &self,
        cluster: &ClusterArn,
        task: &DescribedTask,
        identity: Option<MeshIdentity>,
        definitions: &Definitions,
    ) -> MeshTask {
        let tenancy = identity.as_ref().map_or(self.scope.tenancy_of(cluster), |it| &it.service.tenancy).clone();
        let definition = definitions.of_task(task);
        MeshTask {
            stopped_at: task.end.stopped_at,
            identity,
            secrets: definition.map(|it| Arc::clone(&it.secrets)).unwrap_or_default(),
            runs_client_agent: definition.is_some_and(|it| it.runs_client_agent()),
            losses: definition.map(|it| self.scope.losses(task, it)).unwrap_or_default(),
            ..MeshTask::unidentified(task.arn.clone(), cluster.clone(), task.phase, tenancy)
        }
    }

    /// The cluster of an active one of these tasks; `None` if none is active, so that a stale event creates nothing for
    /// a stopped task.
    ///
    /// A recent event is accepted without a read: ECS may not describe its task yet.
    ///
    /// # Errors
    /// [`CallError::NotDescribedYet`] if ECS does not describe a task that it has not forgotten yet.
    pub async fn cluster_of_active_task(&self, changes: &[&TaskChange]) -> Result<Option<ClusterArn>, CallError> {
        let now = self.clock.now();
        let is_new = |change: &&&TaskChange| self.scope.bounds.may_lag(change.time, now);
        if let Some(new) = changes.iter().find(is_new) {
            return Ok(Some(new.cluster.clone()));
        }
        let mut clusters: BTreeMap<&ClusterArn, Vec<TaskArn>> = BTreeMap::new();
        for change in changes {
            clusters.entry(&change.cluster).or_default().push(change.arn.clone());
        }
        let mut answers = Answers::default();
        for (cluster, tasks) in clusters {
            let answer = self.answers(cluster, &tasks).await?;
            if tasks.iter().any(|task| answer.running(task).is_some()) {
                return Ok(Some(cluster.clone()));
            }
            answers.extend(answer);
        }
        let is_awaited = |change: &&&TaskChange| {
            answers.existence(&change.arn) == Existence::NotKnown && !self.may_be_forgotten(change)
        };
        match changes.iter().find(is_awaited) {
            Some(change) => Err(CallError::NotDescribedYet(change.arn.clone())),
            None => Ok(None),
        }
    }

    /// Whether the event is so old that ECS may have forgotten its task, if it does not describe it. Otherwise its answers lag.
    pub(crate) fn may_be_forgotten(&self, change: &TaskChange) -> bool {
        elapsed(change.time, self.clock.now()) >= DESCRIBED_FOR
    }
}

/// The tasks that ECS lists in a cluster.
#[derive(Debug, Clone, Default)]
pub struct ListedTasks {
    pub(crate) described: Vec<Arc<DescribedTask>>,
    /// Those that it does not describe, because its answers lag behind each other. It may have dropped a stopped one.
    pub(crate) undescribed: TaskList,
}

impl ListedTasks {
    /// The described tasks, if they are all that may run.
    ///
    /// # Errors
    /// [`EcsError::NotDescribed`] if a running task is not described.
    pub(crate) fn whole(self) -> Result<Vec<Arc<DescribedTask>>, EcsError> {
        match self.undescribed.running.into_iter().next() {
            Some(task) => Err(EcsError::NotDescribed(task)),
            None => Ok(self.described),
        }
    }
}

/// Lists and describes the tasks of a cluster.
pub(crate) async fn list_tasks(ecs: &dyn EcsReads, cluster: &ClusterArn) -> Result<ListedTasks, EcsError> {
    let TaskList { mut running, mut stopped } = ecs.list_tasks(cluster).await?;
    let listed: BTreeSet<TaskArn> = running.iter().chain(&stopped).cloned().collect();
    let described = describe_all(ecs, cluster, &Vec::from_iter(listed)).await?;
    let known: BTreeSet<&TaskArn> = described.iter().map(|task| &task.arn).collect();
    running.retain(|task| !known.contains(task));
    stopped.retain(|task| !known.contains(task));
    Ok(ListedTasks { described, undescribed: TaskList { running, stopped } })
}

/// Describes tasks of a cluster in concurrent calls for up to 100 each.
async fn describe_all(
    ecs: &dyn EcsReads,
    cluster: &ClusterArn,
    tasks: &[TaskArn],
) -> Result<Vec<Arc<DescribedTask>>, EcsError> {
    let pages = tasks.chunks(DESCRIBE_LIMIT).map(|page| ecs.describe_tasks(cluster, page));
    Ok(try_concurrently_in_order(pages).await?.into_iter().flatten().map(Arc::new).collect())
}

/// Task definitions, each once.
pub(crate) async fn read_definitions(
    ecs: &dyn EcsReads,
    arns: impl IntoIterator<Item = &TaskDefinitionArn>,
    deadline: Deadline,
) -> Definitions {
    let arns: BTreeSet<&TaskDefinitionArn> = arns.into_iter().collect();
    let reads = arns.into_iter().map(|arn| async move {
        let definition = deadline.run(ecs.task_definition(arn)).await;
        (arn.clone(), definition)
    });
    Definitions(concurrently(reads).await.into_iter().collect())
}
