//! Observing whole clusters. What could not be read is a problem, and what depends on it is not judged.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use futures::{StreamExt, stream};
use jiff::Timestamp;

use super::{SweepOrder, problem};
use crate::{
    controller::{
        CONCURRENCY, Controller, ControllerError, Deadline,
        bootstrap::KnownStatuses,
        cluster_tasks::ClusterTasks,
        observe::{Definitions, is_unknown_definition},
    },
    ecs::{ClusterStatus, EcsError},
};
use mesh::{
    arn::{ClusterArn, TaskDefinitionArn},
    identity::MeshService,
    idleness::TaskListing,
    mark::HolderMark,
    phase::TaskPhase,
    plan::{Extent, Observed, holders_for},
    task::{DescribedTask, MeshTask},
    tenancy::{Tenancy, TenancyName},
    token::TokenHolder,
};

/// What a sweep saw.
#[derive(Default)]
pub(in crate::controller) struct Survey {
    /// When it began, by the function's clock: everything was read later.
    pub(super) began: Timestamp,
    pub(in crate::controller) observed: Observed,
    pub(in crate::controller) readings: Vec<Reading>,
    /// One tenancy for each of Consul's partitions that was looked at.
    pub(in crate::controller) partitions: Vec<Tenancy>,
    pub(in crate::controller) problems: Vec<Problem>,
    pub(super) skipped: Vec<Skipped>,
    /// Clusters of which it is not known what Consul holds.
    pub(super) unseen: BTreeSet<ClusterArn>,
}

impl Survey {
    /// Something that Consul holds of `clusters` could not be read.
    pub(super) fn could_not_see(
        &mut self,
        clusters: &[&ClusterArn],
        concerned: Option<&ClusterArn>,
        error: ControllerError,
    ) {
        self.problems.push(problem(concerned, error));
        self.unseen.extend(clusters.iter().map(|cluster| (*cluster).clone()));
    }
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
pub(super) struct Clusters {
    pub(super) read: Vec<ClusterTasks>,
    pub(super) deleted: BTreeSet<ClusterArn>,
}

impl Clusters {
    pub(super) fn tasks(&self, cluster: &ClusterArn) -> &[DescribedTask] {
        self.read.iter().find(|read| read.cluster == *cluster).map_or(&[], |read| &read.tasks)
    }

    /// Whether a service may be called idle. The guard judges the clusters of the order by what Consul holds of them; of the
    /// others, and of `unseen` ones, nobody knows whether they are in use, so that an empty list proves nothing.
    fn are_credible(&self, order: &SweepOrder, unseen: &BTreeSet<ClusterArn>) -> bool {
        let is_judged = |cluster| order.includes(cluster) && !unseen.contains(cluster);
        order.force || self.read.iter().all(|read| !read.tasks.is_empty() || is_judged(&read.cluster))
    }

    pub(super) fn is_read(&self, cluster: &ClusterArn) -> bool {
        self.deleted.contains(cluster) || self.read.iter().any(|read| read.cluster == *cluster)
    }
}

impl Controller {
    /// Looks at the clusters of an order, of which ECS has said whether they exist.
    pub(in crate::controller) async fn survey(
        &self,
        order: &SweepOrder,
        statuses: &KnownStatuses,
        deadline: Deadline,
    ) -> Survey {
        let mut survey = Survey { began: self.edges.clock.now(), ..Survey::default() };
        let clusters = self.read_clusters(order, statuses, deadline, &mut survey).await;
        let arns: BTreeSet<&TaskDefinitionArn> =
            clusters.read.iter().flat_map(|read| &read.tasks).map(|task| &task.definition).collect();
        let definitions = self.definitions(arns, deadline).await;
        let every_task = self.every_task(survey.began, &clusters, &definitions, &mut survey.problems);
        let wanted: Vec<&ClusterArn> = self.scope.clusters.iter().filter(|cluster| order.includes(cluster)).collect();
        for cluster in &wanted {
            self.take_tasks(cluster, &clusters, &definitions, &mut survey);
        }
        survey.partitions = self.partitions(&wanted, deadline, &mut survey).await;
        for tenancy in survey.partitions.clone() {
            self.read_partition(&tenancy, &wanted, &clusters, deadline, &mut survey).await;
        }
        let is_credible = clusters.are_credible(order, &survey.unseen);
        survey.observed.extent = Extent::Clusters(every_task.filter(|_| is_credible));
        self.find_gone_tasks(&wanted, &clusters, deadline, &mut survey).await;
        self.read_secrets(deadline, &mut survey).await;
        self.leave_out_doubtful_tokens(&mut survey);
        self.read_checks(deadline, &mut survey).await;
        survey
    }

    /// The tasks of all configured clusters: whether a service is idle depends on every one.
    async fn read_clusters(
        &self,
        order: &SweepOrder,
        statuses: &KnownStatuses,
        deadline: Deadline,
        survey: &mut Survey,
    ) -> Clusters {
        let all = &self.scope.clusters;
        let mut clusters = Clusters { read: Vec::new(), deleted: BTreeSet::new() };
        let statuses = match statuses {
            Ok(statuses) => statuses,
            Err(error) => {
                survey.problems.push(problem(None, Arc::clone(error)));
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

    /// The secrets of the holders that need a token, and of those that Consul holds one for.
    async fn read_secrets(&self, deadline: Deadline, survey: &mut Survey) {
        let tasks = survey.observed.tasks.iter().filter(|task| task.phase == TaskPhase::Active);
        let mut holders: BTreeSet<TokenHolder> =
            tasks.flat_map(|task| holders_for(task.identity.as_ref(), self.scope.mode)).collect();
        holders.extend(survey.observed.tokens.iter().filter_map(|token| {
            let mark = HolderMark::parse(&token.description).filter(|mark| mark.is_of(&self.scope.clusters))?;
            Some(TokenHolder::Service(MeshService { tenancy: token.tenancy.clone(), name: mark.service? }))
        }));
        let reads = holders.into_iter().map(|holder| async move {
            let read = async { Ok::<_, ControllerError>(self.attempt(&holder)?.read().await?) };
            let read = deadline.run(read).await;
            (holder, read)
        });
        let read: Vec<_> = stream::iter(reads).buffer_unordered(CONCURRENCY).collect().await;
        for (holder, secret) in read {
            match secret {
                Ok(secret) => drop(survey.observed.secrets.insert(holder, secret)),
                Err(error) => survey.problems.push(problem(None, error)),
            }
        }
    }

    fn every_task(
        &self,
        listed_at: Timestamp,
        clusters: &Clusters,
        definitions: &Definitions,
        problems: &mut Vec<Problem>,
    ) -> Option<TaskListing> {
        if !self.scope.clusters.iter().all(|cluster| clusters.is_read(cluster)) {
            return None;
        }
        let tasks =
            self.service_tasks(&clusters.read, definitions).map_err(|error| problems.push(problem(None, error)));
        Some(TaskListing { listed_at, tasks: tasks.ok()? })
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

    /// One tenancy for each partition that the clusters or their tasks live in; on Enterprise, for each that there is:
    /// where a task has lived that ECS has forgotten, only what it left can tell.
    async fn partitions(&self, clusters: &[&ClusterArn], deadline: Deadline, survey: &mut Survey) -> Vec<Tenancy> {
        let homes = clusters.iter().map(|cluster| self.scope.tenancy_of(cluster).clone());
        let known: Vec<Tenancy> = homes.chain(survey.observed.tasks.iter().map(|task| task.tenancy.clone())).collect();
        let mut listed = Vec::new();
        if known.iter().any(|tenancy| tenancy.partition().is_some()) {
            match deadline.run(self.edges.consul.partitions()).await {
                Ok(names) => listed.extend(names.into_iter().map(Tenancy::default_namespace_of)),
                Err(error) => survey.could_not_see(clusters, None, error),
            }
        }
        let all = listed.iter().chain(&known);
        let by_name: BTreeMap<Option<&TenancyName>, &Tenancy> = all.map(|t| (t.partition(), t)).collect();
        // Without a name it is the default partition, which must not be read twice.
        let names_default = by_name.keys().flatten().any(|name| name.as_str() == "default");
        by_name.into_iter().filter(|(name, _)| !(names_default && name.is_none())).map(|(_, t)| t.clone()).collect()
    }
}
