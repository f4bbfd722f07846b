//! Tasks that only Consul remembers.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt, stream};
use mesh::{
    arn::{ClusterArn, TaskArn, TaskId},
    catalog::ServiceInstance,
    identity::MeshService,
    mark::{HolderMark, LoginMark},
    observed::Observed,
    phase::TaskPhase,
    task::MeshTask,
    token::{ListedToken, TokenHolder},
};

use super::findings::{Clusters, Problem, Skipped, Survey};
use crate::{deadline::Deadline, error::ControllerError, outcome::CONCURRENCY, tasks::TaskReader};

/// Finds tasks that only Consul remembers.
pub(super) struct GoneTasks {
    pub(super) tasks: TaskReader,
}

impl GoneTasks {
    /// Tasks that Consul mentions and ECS does not list: ECS is asked for each by name, and those that it does not know
    /// are gone. Stopped tasks are known for an hour only.
    pub(super) async fn find(
        &self,
        wanted: &[&ClusterArn],
        clusters: &Clusters,
        deadline: Deadline,
        survey: &mut Survey,
    ) {
        let read = wanted.iter().filter(|cluster| clusters.is_read(cluster));
        let unlisted: Vec<_> = read.map(|cluster| (*cluster, unlisted(cluster, clusters, &survey.observed))).collect();
        // Side by side: a cluster that was left with many must not cost the others their time.
        let looks =
            unlisted.into_iter().filter(|(_, unlisted)| !unlisted.is_empty()).map(|(cluster, unlisted)| async move {
                let described = self.phases(cluster, unlisted.keys(), clusters, deadline).await;
                (cluster, unlisted, described)
            });
        let looks: Vec<_> = stream::iter(looks).buffered(CONCURRENCY).collect().await;
        for (cluster, unlisted, described) in looks {
            let described = match described {
                Ok(described) => described,
                Err(error) => {
                    survey.problems.push(Problem::new(Some(cluster), error));
                    continue;
                }
            };
            for (id, is_certain) in unlisted {
                match (described.get(&id), is_certain) {
                    (Some(TaskPhase::Stopped), _) | (None, true) => {
                        survey.observed.tasks.push(self.gone_task(cluster, &id));
                    }
                    (None, false) => skip_login_tokens(cluster, &id, survey),
                    (Some(_), _) => {}
                }
            }
        }
    }

    /// Where tasks stand that ECS does not list. Those that it does not know are not in the answer.
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
        let described = deadline.run(self.tasks.ecs.describe_tasks(cluster, &arns)).await?;
        Ok(described.into_iter().map(|task| (task.arn.id().clone(), task.phase)).collect())
    }

    /// Leaves out service tokens whose mark names the cluster without an account, unless our own secret names them: a
    /// cluster of that name may be in another account, too.
    pub(super) fn skip_ambiguous_tokens(&self, survey: &mut Survey) {
        let mut kept = Vec::new();
        for token in std::mem::take(&mut survey.observed.tokens) {
            let ambiguous = HolderMark::parse(&token.description).and_then(|mark| {
                let is_certain = mark.is_certainly_of(&self.tasks.scope.clusters);
                let cluster = self.tasks.scope.clusters.iter().find(|cluster| cluster.is_meant_by(&mark.cluster))?;
                let service = MeshService { tenancy: token.tenancy.clone(), name: mark.service? };
                (!is_certain).then_some((cluster, TokenHolder::Service(service)))
            });
            let Some((cluster, holder)) = ambiguous else {
                kept.push(token);
                continue;
            };
            let named =
                survey.observed.secrets.get(&holder).map(|secret| secret.state.pair().map(|pair| pair.accessor));
            match named {
                Some(named) if named == Some(token.accessor) => kept.push(token),
                Some(_) => survey.skipped.push(Skipped {
                    cluster: cluster.clone(),
                    what: format!("token {} of {holder}", token.accessor),
                    why: "it names the cluster without an account, and our secret does not name it".to_owned(),
                }),
                // Its secret could not be read, which is reported.
                None => {}
            }
        }
        survey.observed.tokens = kept;
    }

    /// What it left in Consul bears its ID; nothing else is known of it.
    fn gone_task(&self, cluster: &ClusterArn, id: &TaskId) -> MeshTask {
        MeshTask {
            arn: TaskArn::in_cluster(cluster, id),
            cluster: cluster.clone(),
            phase: TaskPhase::Stopped,
            tenancy: self.tasks.scope.tenancy_of(cluster).clone(),
            identity: None,
            runs_client_agent: false,
        }
    }
}

/// The tasks of `cluster` that Consul mentions and ECS does not list, and whether it is certain that they are of it.
fn unlisted(cluster: &ClusterArn, clusters: &Clusters, observed: &Observed) -> BTreeMap<TaskId, bool> {
    let listed: BTreeSet<&TaskId> = clusters.tasks(cluster).iter().map(|task| task.arn.id()).collect();
    let mut unlisted = mentioned(observed, cluster);
    unlisted.retain(|id, _| !listed.contains(id));
    unlisted
}

/// Leaves out the login tokens of a task that may be of another account's cluster of the same name.
fn skip_login_tokens(cluster: &ClusterArn, id: &TaskId, survey: &mut Survey) {
    let belongs = |token: &ListedToken| {
        LoginMark::parse(&token.description).is_some_and(|mark| mark.task == *id && cluster.is_meant_by(&mark.cluster))
    };
    survey.observed.tokens.retain(|token| !belongs(token));
    survey.skipped.push(Skipped {
        cluster: cluster.clone(),
        what: format!("login token of task {id}"),
        why: "it names the cluster without an account, and ECS does not know the task".to_owned(),
    });
}

/// Whether an instance's own mark says that its task is of `cluster`: only an ARN in its present shape can.
pub(super) fn names_cluster(instance: &ServiceInstance, cluster: &ClusterArn) -> bool {
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
