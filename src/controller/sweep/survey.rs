//! Observing whole clusters. What could not be read is a problem, and what depends on it is not judged.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use futures::{StreamExt, stream};

use super::{SweepOrder, problem};
use crate::{
    controller::{
        CONCURRENCY, Controller, ControllerError, Deadline,
        cluster_tasks::ClusterTasks,
        observe::{Definitions, is_unknown_definition},
    },
    ecs::{ClusterStatus, EcsError},
    mesh::{
        arn::{ClusterArn, TaskArn, TaskDefinitionArn, TaskId},
        catalog::{AgentStatus, ClientAgent, LeftoverNode, ServiceInstance},
        idleness::ServiceTask,
        mark::LoginMark,
        phase::TaskPhase,
        plan::{Extent, Observed},
        task::{DescribedTask, MeshTask},
        tenancy::{Tenancy, TenancyName},
    },
};

/// What a sweep saw.
#[derive(Default)]
pub(in crate::controller) struct Survey {
    pub(in crate::controller) observed: Observed,
    pub(in crate::controller) readings: Vec<Reading>,
    pub(in crate::controller) problems: Vec<Problem>,
    pub(super) skipped: Vec<Skipped>,
}

/// How a cluster was read.
pub(in crate::controller) struct Reading {
    pub(super) cluster: ClusterArn,
    /// Whether all of it could be read.
    pub(super) is_judged: bool,
    /// Whether ECS has deleted it.
    pub(super) is_deleted: bool,
    /// How many tasks ECS lists, and how many of them live.
    pub(super) listed: usize,
    pub(in crate::controller) living: usize,
}

/// A part that could not be read or done.
pub(in crate::controller) struct Problem {
    pub(in crate::controller) cluster: Option<ClusterArn>,
    pub(in crate::controller) error: Arc<ControllerError>,
}

/// Something that was left alone, and why.
pub(in crate::controller) struct Skipped {
    pub(super) cluster: ClusterArn,
    pub(super) what: String,
    pub(super) why: String,
}

/// The clusters as ECS describes them.
struct Clusters {
    read: Vec<ClusterTasks>,
    deleted: BTreeSet<ClusterArn>,
}

impl Clusters {
    fn tasks(&self, cluster: &ClusterArn) -> &[DescribedTask] {
        self.read.iter().find(|read| read.cluster == *cluster).map_or(&[], |read| &read.tasks)
    }

    fn is_read(&self, cluster: &ClusterArn) -> bool {
        self.deleted.contains(cluster) || self.read.iter().any(|read| read.cluster == *cluster)
    }
}

impl Controller {
    pub(in crate::controller) async fn survey(&self, order: &SweepOrder, deadline: Deadline) -> Survey {
        let mut survey = Survey::default();
        let clusters = self.read_clusters(order, deadline, &mut survey).await;
        let arns: BTreeSet<&TaskDefinitionArn> =
            clusters.read.iter().flat_map(|read| &read.tasks).map(|task| &task.definition).collect();
        let definitions = self.definitions(arns, deadline).await;
        survey.observed.extent = Extent::Clusters(self.every_task(&clusters, &definitions, &mut survey.problems));
        let wanted: Vec<&ClusterArn> = self.scope.clusters.iter().filter(|cluster| order.includes(cluster)).collect();
        for cluster in &wanted {
            self.take_tasks(cluster, &clusters, &definitions, &mut survey);
        }
        for tenancy in self.partitions(&wanted, &survey.observed.tasks) {
            self.read_partition(&tenancy, &wanted, &clusters, deadline, &mut survey).await;
        }
        for cluster in &wanted {
            self.find_gone_tasks(cluster, &clusters, deadline, &mut survey).await;
        }
        self.read_checks(deadline, &mut survey).await;
        survey
    }

    /// The tasks of all configured clusters: whether a service is idle depends on every one.
    async fn read_clusters(&self, order: &SweepOrder, deadline: Deadline, survey: &mut Survey) -> Clusters {
        let all = &self.scope.clusters;
        let mut clusters = Clusters { read: Vec::new(), deleted: BTreeSet::new() };
        let statuses = match deadline.run(self.edges.ecs.cluster_statuses(all)).await {
            Ok(statuses) => statuses,
            Err(error) => {
                survey.problems.push(problem(None, error));
                return clusters;
            }
        };
        let mut existing = Vec::new();
        for cluster in all {
            match statuses.get(cluster) {
                Some(ClusterStatus::Active) => existing.push(cluster),
                Some(ClusterStatus::Deleted) => drop(clusters.deleted.insert(cluster.clone())),
                _ if order.takes_unknown_for_deleted(cluster) => drop(clusters.deleted.insert(cluster.clone())),
                _ => {
                    let error = ControllerError::from(EcsError::UnknownCluster(cluster.clone()));
                    survey.problems.push(problem(Some(cluster), error));
                }
            }
        }
        let reads =
            existing.into_iter().map(|cluster| async move { (cluster, deadline.run(self.tasks_of(cluster)).await) });
        let read: Vec<_> = stream::iter(reads).buffered(CONCURRENCY).collect().await;
        for (cluster, tasks) in read {
            match tasks {
                Ok(tasks) => clusters.read.push(tasks),
                Err(error) => survey.problems.push(problem(Some(cluster), error)),
            }
        }
        clusters
    }

    fn every_task(
        &self,
        clusters: &Clusters,
        definitions: &Definitions,
        problems: &mut Vec<Problem>,
    ) -> Option<Vec<ServiceTask>> {
        if !self.scope.clusters.iter().all(|cluster| clusters.is_read(cluster)) {
            return None;
        }
        self.service_tasks(&clusters.read, definitions).map_err(|error| problems.push(problem(None, error))).ok()
    }

    fn take_tasks(&self, cluster: &ClusterArn, clusters: &Clusters, definitions: &Definitions, survey: &mut Survey) {
        let tasks = clusters.tasks(cluster);
        survey.readings.push(Reading {
            cluster: cluster.clone(),
            is_judged: clusters.is_read(cluster),
            is_deleted: clusters.deleted.contains(cluster),
            listed: tasks.len(),
            living: tasks.iter().filter(|task| task.phase.is_living()).count(),
        });
        let tenancy = self.scope.tenancy_of(cluster);
        for task in tasks {
            let definition = definitions.get(&task.definition);
            let identity = match definition {
                Some(Ok(definition)) => match definition.identify(&task.tags, tenancy) {
                    Ok(identity) => identity,
                    Err(reason) => {
                        self.edges.ecs.forget(&task.definition);
                        let what = format!("task {} of {}", task.arn.id(), task.definition);
                        survey.skipped.push(Skipped { cluster: cluster.clone(), what, why: reason.to_string() });
                        None
                    }
                },
                Some(Err(error)) if task.phase.is_living() && !is_unknown_definition(error) => {
                    survey.problems.push(problem(Some(cluster), Arc::clone(error)));
                    None
                }
                _ => None,
            };
            if identity.is_some() || task.phase == TaskPhase::Stopped {
                let tenancy = identity.as_ref().map_or(tenancy, |identity| &identity.service.tenancy).clone();
                let runs_client_agent = matches!(definition, Some(Ok(definition)) if definition.runs_client_agent());
                survey.observed.tasks.push(MeshTask {
                    arn: task.arn.clone(),
                    cluster: cluster.clone(),
                    phase: task.phase,
                    tenancy,
                    identity,
                    runs_client_agent,
                });
            }
        }
    }

    /// One tenancy for each partition that the clusters or their tasks live in.
    fn partitions(&self, clusters: &[&ClusterArn], tasks: &[MeshTask]) -> Vec<Tenancy> {
        let homes = clusters.iter().map(|cluster| self.scope.tenancy_of(cluster));
        let all = homes.chain(tasks.iter().map(|task| &task.tenancy));
        let by_name: BTreeMap<Option<&TenancyName>, &Tenancy> = all.map(|t| (t.partition(), t)).collect();
        by_name.into_values().cloned().collect()
    }

    /// Tokens, nodes and dead agents of one partition.
    async fn read_partition(
        &self,
        tenancy: &Tenancy,
        wanted: &[&ClusterArn],
        clusters: &Clusters,
        deadline: Deadline,
        survey: &mut Survey,
    ) {
        let (tokens, nodes, agents) = futures::join!(
            deadline.run(self.edges.consul.tokens(tenancy)),
            self.read_nodes(tenancy, wanted, deadline),
            deadline.run(self.failed_agents(tenancy, wanted)),
        );
        match tokens {
            Ok(tokens) => survey.observed.tokens.extend(tokens),
            Err(error) => survey.problems.push(problem(None, error)),
        }
        match agents {
            Ok(agents) => survey.observed.agents.extend(agents),
            Err(error) => survey.problems.push(problem(None, error)),
        }
        for (cluster, node) in nodes {
            match node {
                Ok(Some(node)) => {
                    survey.observed.instances.extend(node.instances.iter().cloned());
                    let foreign = node.others.iter().map(|id| Skipped {
                        cluster: cluster.clone(),
                        what: format!("service {id}"),
                        why: "it bears no task's mark".to_owned(),
                    });
                    survey.skipped.extend(foreign);
                    if clusters.deleted.contains(&cluster) {
                        survey.observed.leftover_nodes.push(LeftoverNode { cluster, node, tenancy: tenancy.clone() });
                    }
                }
                Ok(None) => {}
                Err(error) => survey.problems.push(problem(Some(&cluster), error)),
            }
        }
    }

    async fn read_nodes(
        &self,
        tenancy: &Tenancy,
        wanted: &[&ClusterArn],
        deadline: Deadline,
    ) -> Vec<(ClusterArn, Result<Option<crate::mesh::catalog::CatalogNode>, ControllerError>)> {
        let reads = wanted.iter().map(|cluster| async move {
            ((*cluster).clone(), deadline.run(self.edges.consul.node(cluster.as_str(), tenancy)).await)
        });
        stream::iter(reads).buffered(CONCURRENCY).collect().await
    }

    /// Agents that vanished without leaving, and whose nodes hold services of tasks of the clusters.
    async fn failed_agents(
        &self,
        tenancy: &Tenancy,
        clusters: &[&ClusterArn],
    ) -> Result<Vec<ClientAgent>, ControllerError> {
        let members = self.edges.consul.members(tenancy).await?;
        let failed = members.into_iter().filter(|member| member.status == AgentStatus::Failed).collect();
        let agents = self.client_agents(failed, tenancy).await?;
        let is_of = |instance: &ServiceInstance| clusters.iter().any(|cluster| names_cluster(instance, cluster));
        Ok(agents.into_iter().filter(|agent| agent.node.instances.iter().any(is_of)).collect())
    }

    /// Tasks that Consul mentions and ECS does not list: ECS is asked for each by name, and those that it does not know
    /// are gone. Stopped tasks are known for an hour only.
    async fn find_gone_tasks(
        &self,
        cluster: &ClusterArn,
        clusters: &Clusters,
        deadline: Deadline,
        survey: &mut Survey,
    ) {
        if !clusters.is_read(cluster) {
            return;
        }
        let listed: BTreeSet<&TaskId> = clusters.tasks(cluster).iter().map(|task| task.arn.id()).collect();
        let mut unlisted = mentioned(&survey.observed, cluster);
        unlisted.retain(|id, _| !listed.contains(id));
        if unlisted.is_empty() {
            return;
        }
        let mut described = BTreeMap::new();
        if !clusters.deleted.contains(cluster) {
            let arns: Vec<TaskArn> = unlisted.keys().map(|id| TaskArn::in_cluster(cluster, id)).collect();
            match deadline.run(self.edges.ecs.describe_tasks(cluster, &arns)).await {
                Ok(tasks) => described.extend(tasks.into_iter().map(|task| (task.arn.id().clone(), task.phase))),
                Err(error) => {
                    survey.problems.push(problem(Some(cluster), error));
                    return;
                }
            }
        }
        for (id, is_certain) in unlisted {
            match (described.get(&id), is_certain) {
                (Some(TaskPhase::Stopped), _) | (None, true) => {
                    survey.observed.tasks.push(self.gone_task(cluster, &id));
                }
                (None, false) => survey.skipped.push(Skipped {
                    cluster: cluster.clone(),
                    what: format!("login token of task {id}"),
                    why: "it names the cluster without an account, and ECS does not know the task".to_owned(),
                }),
                (Some(_), _) => {}
            }
        }
    }

    /// What it left in Consul bears its ID; nothing else is known of it.
    fn gone_task(&self, cluster: &ClusterArn, id: &TaskId) -> MeshTask {
        MeshTask {
            arn: TaskArn::in_cluster(cluster, id),
            cluster: cluster.clone(),
            phase: TaskPhase::Stopped,
            tenancy: self.scope.tenancy_of(cluster).clone(),
            identity: None,
            runs_client_agent: false,
        }
    }

    /// The checks of stopping tasks, which should be critical.
    async fn read_checks(&self, deadline: Deadline, survey: &mut Survey) {
        let stopping: BTreeSet<(&str, &TaskId)> = survey
            .observed
            .tasks
            .iter()
            .filter(|task| task.phase == TaskPhase::Stopping)
            .map(|task| (task.cluster.as_str(), task.arn.id()))
            .collect();
        let mut draining: BTreeMap<(String, Tenancy), Vec<ServiceInstance>> = BTreeMap::new();
        for instance in &survey.observed.instances {
            if stopping.contains(&(instance.node.as_str(), &instance.task)) {
                let node = (instance.node.clone(), instance.tenancy.clone());
                draining.entry(node).or_default().push(instance.clone());
            }
        }
        for instances in draining.into_values() {
            match deadline.run(self.edges.consul.checks(&instances)).await {
                Ok(checks) => survey.observed.checks.extend(checks),
                Err(error) => survey.problems.push(problem(None, error)),
            }
        }
    }
}

/// Whether an instance's own mark says that its task is of `cluster`: only an ARN in its present shape can.
fn names_cluster(instance: &ServiceInstance, cluster: &ClusterArn) -> bool {
    instance.task_arn.as_ref().is_some_and(|arn| *arn == TaskArn::in_cluster(cluster, &instance.task))
}

/// The tasks of `cluster` that Consul mentions, and whether it is certain that they are of this very cluster: a cluster's
/// name alone may be that of another account's.
fn mentioned(observed: &Observed, cluster: &ClusterArn) -> BTreeMap<TaskId, bool> {
    let mut mentioned = BTreeMap::new();
    let mut mention = |id: TaskId, is_certain: bool| *mentioned.entry(id).or_insert(false) |= is_certain;
    for token in &observed.tokens {
        if let Some(mark) = LoginMark::parse(&token.description).filter(|mark| cluster.is_meant_by(&mark.cluster)) {
            mention(mark.task, mark.cluster == cluster.as_str());
        }
    }
    for instance in observed.instances.iter().filter(|instance| instance.node == cluster.as_str()) {
        mention(instance.task.clone(), true);
    }
    for instance in observed.agents.iter().flat_map(|agent| &agent.node.instances) {
        if names_cluster(instance, cluster) {
            mention(instance.task.clone(), true);
        }
    }
    mentioned
}
