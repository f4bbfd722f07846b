//! Tasks with entries in Consul that ECS does not list.

use std::collections::{BTreeMap, BTreeSet};

use mesh::{
    arn::{ClusterArn, TaskArn, TaskId},
    catalog::ServiceInstance,
    definition::Losses,
    login::LoginMark,
    observed::Observed,
    phase::TaskPhase,
    task::MeshTask,
};

use super::findings::{Clusters, Problem, Skipped, Survey};
use crate::{deadline::Deadline, error::ControllerError, outcome::concurrently_in_order, tasks::TaskReader};

/// Finds tasks with entries in Consul that ECS does not list.
pub(super) struct GoneTasks {
    pub(super) tasks: TaskReader,
}

impl GoneTasks {
    /// Describes each task with an entry in Consul that ECS does not list, and adds those that are stopped or unknown
    /// as stopped: ECS describes a stopped task for one hour. Which of the unknown ones are gone, the guard decides.
    pub(super) async fn find(
        &self,
        wanted: &[ClusterArn],
        clusters: &Clusters,
        deadline: Deadline,
        survey: &mut Survey,
    ) {
        let read = wanted.iter().filter(|cluster| clusters.is_read(cluster));
        let unlisted: Vec<_> = read.map(|cluster| (cluster, unlisted(cluster, clusters, &survey.observed))).collect();
        // Concurrently: a cluster with many such tasks must not delay the others.
        let reads =
            unlisted.into_iter().filter(|(_, unlisted)| !unlisted.is_empty()).map(|(cluster, unlisted)| async move {
                let described = self.phases(cluster, unlisted.keys(), clusters, deadline).await;
                (cluster, unlisted, described)
            });
        let reads: Vec<_> = concurrently_in_order(reads).await;
        for (cluster, unlisted, described) in reads {
            let described = match described {
                Ok(described) => described,
                Err(error) => {
                    survey.problems.push(Problem::new(Some(cluster), error));
                    continue;
                }
            };
            let mut uncertain = BTreeSet::new();
            for (id, is_certain) in unlisted {
                match (described.get(&id), is_certain) {
                    (Some(TaskPhase::Stopped), _) => survey.observed.tasks.push(self.gone_task(cluster, &id)),
                    (None, true) => {
                        let task = self.gone_task(cluster, &id);
                        // A deleted cluster has no tasks.
                        if !clusters.deleted.contains(cluster) {
                            survey.observed.unknown.insert(task.arn.clone());
                        }
                        survey.observed.tasks.push(task);
                    }
                    (None, false) => drop(uncertain.insert(id)),
                    (Some(_), _) => {}
                }
            }
            skip_login_tokens(cluster, &uncertain, survey);
        }
    }

    /// The phases of tasks that ECS does not list. Unknown tasks are not in the result.
    async fn phases(
        &self,
        cluster: &ClusterArn,
        tasks: impl Iterator<Item = &TaskId>,
        clusters: &Clusters,
        deadline: Deadline,
    ) -> Result<BTreeMap<TaskId, TaskPhase>, ControllerError> {
        if clusters.deleted.contains(cluster) {
            return Ok(BTreeMap::new());
        }
        let arns: Vec<TaskArn> = tasks.map(|id| TaskArn::in_cluster(cluster, id)).collect();
        let described = deadline.run(self.tasks.describe_all(cluster, &arns)).await?;
        Ok(described.into_iter().map(|task| (task.arn.id().clone(), task.phase)).collect())
    }

    /// A task that has stopped, or that ECS does not know: only its ID is known.
    fn gone_task(&self, cluster: &ClusterArn, id: &TaskId) -> MeshTask {
        MeshTask {
            arn: TaskArn::in_cluster(cluster, id),
            cluster: cluster.clone(),
            phase: TaskPhase::Stopped,
            tenancy: self.tasks.scope.tenancy_of(cluster).clone(),
            identity: None,
            runs_client_agent: false,
            losses: Losses::default(),
        }
    }
}

/// The tasks with entries in Consul that ECS does not list, and whether they are certainly of `cluster`.
fn unlisted(cluster: &ClusterArn, clusters: &Clusters, observed: &Observed) -> BTreeMap<TaskId, bool> {
    let listed: BTreeSet<&TaskId> = clusters.tasks(cluster).iter().map(|task| task.arn.id()).collect();
    let mut unlisted = mentioned(observed, cluster);
    unlisted.retain(|id, _| !listed.contains(id));
    unlisted
}

/// Skips the login tokens of tasks that may be of another account's cluster of the same name.
fn skip_login_tokens(cluster: &ClusterArn, tasks: &BTreeSet<TaskId>, survey: &mut Survey) {
    let belongs = |login: &LoginMark| tasks.contains(&login.task) && cluster.is_named_by(&login.cluster);
    survey.observed.tokens.retain(|token| !token.login.as_ref().is_some_and(belongs));
    survey.skipped.extend(tasks.iter().map(|id| Skipped {
        cluster: cluster.clone(),
        what: format!("login token of task {id}"),
        why: "it names the cluster without an account, and ECS does not know the task".to_owned(),
    }));
}

/// Whether the metadata of an instance has the long ARN of a task of `cluster`.
pub(super) fn names_cluster(instance: &ServiceInstance, cluster: &ClusterArn) -> bool {
    instance.task_arn.as_ref().is_some_and(|arn| *arn == TaskArn::in_cluster(cluster, &instance.task))
}

/// The tasks of `cluster` with entries in Consul, and whether the entry has the ARN of the cluster: a name alone may be
/// that of another account's cluster.
fn mentioned(observed: &Observed, cluster: &ClusterArn) -> BTreeMap<TaskId, bool> {
    let mut mentioned = BTreeMap::new();
    let mut mention = |id: TaskId, is_certain: bool| *mentioned.entry(id).or_insert(false) |= is_certain;
    for token in &observed.tokens {
        if let Some(login) = token.login.as_ref().filter(|login| cluster.is_named_by(&login.cluster)) {
            mention(login.task.clone(), login.cluster == cluster.as_str());
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
