//! Reads the entries of whole clusters in Consul: tokens, nodes, failed agents, and the checks of stopping tasks. Finds the
//! tasks behind entries that ECS does not list, and skips service tokens that may be another deployment's.

use std::collections::{BTreeMap, BTreeSet};

use mesh::{
    arn::{ClusterArn, TaskArn, TaskId},
    catalog::{AgentStatus, CatalogNode, ClientAgent, LeftoverNode, ServiceInstance},
    existence::{Answers, Existence},
    holder::TokenHolder,
    mark::{HolderMark, LoginMark, used_outside},
    plan::Observed,
    quota::{self, ENTRIES_OF_ONE, EntryOwner},
    repair::NodeReading,
    scope::Scope,
    secret::StoredSecret,
    settings::TokenMode,
    spelling,
    task::{MeshTask, TaskPhase},
    tenancy::Tenancy,
    token::ListedToken,
};

use super::{
    clusters::Clusters,
    findings::{Skipped, World},
    order::SweepOrder,
};
use crate::{
    catalog::{ClusterNode, node_of, reading},
    clock::Deadline,
    concurrency::concurrently_in_order,
    error::CallError,
    observer::{Observer, client_agents},
    problem::Problem,
};

impl Observer {
    /// Reads the tokens and failed agents of one partition, and the nodes of `clusters` in it.
    pub(super) async fn read_partition(
        &self,
        tenancy: &Tenancy,
        order: &SweepOrder,
        clusters: &[ClusterArn],
        deadline: Deadline,
        world: &mut World,
    ) {
        let is_wanted = |token: &ListedToken| self.is_of(order, token);
        let (tokens, agents, synthetic_nodes, nodes) = futures::join!(
            deadline.run(self.consul.tokens(tenancy, &is_wanted)),
            deadline.run(self.failed_agents(tenancy, order)),
            deadline.run(self.synthetic_nodes(tenancy)),
            self.nodes(tenancy, clusters, deadline),
        );
        match tokens {
            Ok(Some(tokens)) => world.observed.tokens.extend(tokens),
            Ok(None) => world.are_acls_off = true,
            Err(error) => world.mark_unread(clusters, None, error),
        }
        match agents {
            Ok(agents) => world.observed.agents.extend(agents),
            Err(error) => world.mark_unread(clusters, None, error),
        }
        match synthetic_nodes {
            Ok(nodes) => world.synthetic_nodes.extend(nodes),
            Err(error) => world.mark_unread(clusters, None, error),
        }
        add_nodes(nodes, tenancy, world);
    }

    /// Reads the nodes of `clusters` in one partition.
    pub(super) async fn read_nodes(
        &self,
        tenancy: &Tenancy,
        clusters: &[ClusterArn],
        deadline: Deadline,
        world: &mut World,
    ) {
        add_nodes(self.nodes(tenancy, clusters, deadline).await, tenancy, world);
    }

    async fn nodes(&self, tenancy: &Tenancy, clusters: &[ClusterArn], deadline: Deadline) -> Nodes {
        let reads = clusters.iter().map(|cluster| async move {
            (cluster.clone(), deadline.run(node_of(self.consul.as_ref(), cluster, tenancy)).await)
        });
        concurrently_in_order(reads).await
    }

    /// The clusters with a synthetic node, if a pattern selects clusters.
    async fn synthetic_nodes(&self, tenancy: &Tenancy) -> Result<Vec<ClusterArn>, CallError> {
        if !self.scope.clusters.has_wildcard() {
            return Ok(Vec::new());
        }
        let names = self.consul.synthetic_nodes(tenancy).await?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// Failed agents with services of the clusters' tasks on their nodes.
    async fn failed_agents(&self, tenancy: &Tenancy, order: &SweepOrder) -> Result<Vec<ClientAgent>, CallError> {
        let members = self.consul.members(tenancy).await?;
        let failed = members.into_iter().filter(|member| member.status == AgentStatus::Failed).collect();
        let agents = client_agents(self.consul.as_ref(), failed, tenancy).await?;
        let is_of = |instance: &ServiceInstance| {
            let cluster = instance.task_arn.as_ref().and_then(|arn| self.scope.clusters.cluster_of(arn));
            cluster.is_some_and(|cluster| order.includes(&cluster) && names_cluster(instance, &cluster))
        };
        Ok(agents.into_iter().filter(|agent| agent.node.instances.iter().any(is_of)).collect())
    }

    /// Whether a token's marks name a cluster of the sweep, or it is in a secret of this deployment, whose clusters were others
    /// before. Other tokens are ignored.
    fn is_of(&self, order: &SweepOrder, token: &ListedToken) -> bool {
        let is_named = |cluster: &str| order.names(cluster, &self.scope.clusters);
        let is_spelled = || spelling::spelled(token, &self.scope.names).is_some();
        token.description.cluster().is_some_and(is_named) || order.clusters.is_empty() && is_spelled()
    }

    /// The checks on the nodes that exist: checks of stopping tasks have to be critical, and checks of running tasks have
    /// to say what ECS says. A node whose checks cannot be read counts as not read.
    pub(super) async fn read_checks(&self, deadline: Deadline, world: &mut World) {
        let (existing, mut nodes): (Vec<_>, Vec<_>) = world.nodes.drain(..).partition(|node| node.exists);
        let reads = existing.into_iter().map(|node| async move {
            let read = deadline.run(self.consul.node_checks(node.cluster.as_str(), &node.tenancy)).await;
            (node, read)
        });
        for (node, checks) in concurrently_in_order(reads).await {
            if let Some(checks) = Problem::record(checks, Some(&node.cluster), &mut world.problems) {
                world.observed.checks.extend(checks);
                nodes.push(node);
            }
        }
        world.nodes = nodes;
    }

    /// Describes each task with an entry in Consul that ECS does not list, and adds those that are stopped or unknown
    /// as stopped: ECS describes a stopped task for one hour. Which of the unknown ones are gone, the guard decides.
    pub(super) async fn find_gone_tasks(
        &self,
        wanted: &[ClusterArn],
        clusters: &Clusters,
        order: &SweepOrder,
        deadline: Deadline,
        world: &mut World,
    ) {
        let read = wanted.iter().filter(|cluster| clusters.is_read(cluster));
        let mut unlisted = Vec::new();
        for cluster in read {
            let Unlisted { asked, waiting } = self::unlisted(cluster, clusters, order, world);
            world.waiting.insert(cluster.clone(), waiting);
            unlisted.push((cluster, asked));
        }
        // Concurrently: a cluster with many such tasks must not delay the others.
        let reads =
            unlisted.into_iter().filter(|(_, unlisted)| !unlisted.is_empty()).map(|(cluster, unlisted)| async move {
                let answers = self.answers_of_unlisted(cluster, unlisted.keys(), clusters, deadline).await;
                (cluster, unlisted, answers)
            });
        let reads: Vec<_> = concurrently_in_order(reads).await;
        for (cluster, unlisted, answers) in reads {
            let Some(answers) = Problem::record(answers, Some(cluster), &mut world.problems) else { continue };
            let mut uncertain = BTreeSet::new();
            for (id, is_certain) in unlisted {
                match (answers.existence(&TaskArn::in_cluster(cluster, &id)), is_certain) {
                    (Existence::Running(_) | Existence::Living | Existence::Ended { is_stopped: false }, _) => {}
                    (Existence::Ended { is_stopped: true }, _) => {
                        world.observed.tasks.push(self.gone_task(cluster, &id));
                    }
                    (Existence::NotKnown, true) => {
                        let task = self.gone_task(cluster, &id);
                        // A deleted cluster has no tasks.
                        if !clusters.deleted.contains(cluster) {
                            world.observed.unknown.insert(task.arn.clone());
                        }
                        world.observed.tasks.push(task);
                    }
                    (Existence::NotKnown, false) => drop(uncertain.insert(id)),
                }
            }
            skip_login_tokens(cluster, &uncertain, world);
        }
    }

    /// What ECS says of tasks that it does not list. Of a deleted cluster it is not asked.
    async fn answers_of_unlisted(
        &self,
        cluster: &ClusterArn,
        tasks: impl Iterator<Item = &TaskId>,
        clusters: &Clusters,
        deadline: Deadline,
    ) -> Result<Answers, CallError> {
        if clusters.deleted.contains(cluster) {
            return Ok(Answers::default());
        }
        let arns: Vec<TaskArn> = tasks.map(|id| TaskArn::in_cluster(cluster, id)).collect();
        let described = deadline.run(self.describe_all(cluster, &arns)).await?;
        Ok(described.into_iter().collect())
    }

    /// A task that has stopped, or that ECS does not know: only its ID is known.
    fn gone_task(&self, cluster: &ClusterArn, id: &TaskId) -> MeshTask {
        let (arn, tenancy) = (TaskArn::in_cluster(cluster, id), self.scope.tenancy_of(cluster).clone());
        MeshTask::unidentified(arn, cluster.clone(), TaskPhase::Stopped, tenancy)
    }
}

/// The nodes of clusters, or why one could not be read.
type Nodes = Vec<(ClusterArn, Result<ClusterNode, CallError>)>;

fn add_nodes(nodes: Nodes, tenancy: &Tenancy, world: &mut World) {
    for (cluster, node) in nodes {
        match node {
            Ok(ClusterNode::OfNamesake(name)) => world.skipped.push(Skipped {
                cluster,
                what: format!("node {name}"),
                why: "its name differs from the cluster's ARN in case, which Consul ignores".to_owned(),
            }),
            Ok(ClusterNode::Found(node)) => add_node(cluster, node, tenancy, world),
            Ok(ClusterNode::Missing) => world.nodes.push(NodeReading::missing(cluster, tenancy.clone())),
            Err(error) => world.mark_unread(std::slice::from_ref(&cluster), Some(&cluster), error),
        }
    }
}

fn add_node(cluster: ClusterArn, mut node: CatalogNode, tenancy: &Tenancy, world: &mut World) {
    world.nodes.push(reading(&cluster, tenancy, &node));
    let foreign = node.others.iter().map(|service| Skipped {
        cluster: cluster.clone(),
        what: format!("service {}", service.id),
        why: "its metadata has no ID of a task of the cluster".to_owned(),
    });
    world.skipped.extend(foreign);
    if world.is_deleted(&cluster) {
        world.observed.instances.extend(node.instances.iter().cloned());
        world.observed.leftover_nodes.push(LeftoverNode { cluster, node, tenancy: tenancy.clone() });
    } else {
        world.observed.instances.append(&mut node.instances);
    }
}

/// The tasks with entries in Consul that ECS does not list.
struct Unlisted {
    /// Those that ECS is asked about, and whether they are certainly of the cluster.
    asked: BTreeMap<TaskId, bool>,
    /// Those that wait for later sweeps.
    waiting: BTreeSet<TaskId>,
}

/// Of each owner of entries, at most [`ENTRIES_OF_ONE`] tasks are asked about, and in a second look those that it is to look at. That
/// others wait is reported.
fn unlisted(cluster: &ClusterArn, clusters: &Clusters, order: &SweepOrder, world: &mut World) -> Unlisted {
    let World { observed, problems, .. } = world;
    let listed: BTreeSet<&TaskId> = clusters.tasks(cluster).iter().map(|task| task.arn.id()).collect();
    let mut unlisted: BTreeMap<&TaskId, Mention> = mentioned(observed, cluster);
    unlisted.retain(|id, _| !listed.contains(id));
    let owned = unlisted.iter().flat_map(|(id, mention)| mention.owners.iter().map(|owner| (owner.clone(), *id)));
    let (chosen, waiting) = quota::divide(owned, ENTRIES_OF_ONE, |count| fastrand::usize(..count));
    let waited = order.waited().into_iter().flat_map(|waited| &waited.tasks).map(TaskArn::id);
    let chosen: BTreeSet<&TaskId> = chosen.into_iter().chain(waited).collect();
    problems.extend(Problem::over_quota(waiting, "tasks that ECS does not list", ENTRIES_OF_ONE, Some(cluster)));
    let (asked, waiting): (Vec<_>, Vec<_>) = unlisted.into_iter().partition(|(id, _)| chosen.contains(id));
    Unlisted {
        asked: asked.into_iter().map(|(id, mention)| (id.clone(), mention.is_certain)).collect(),
        waiting: waiting.into_iter().map(|(id, _)| id.clone()).collect(),
    }
}

/// What entries in Consul say of a task.
#[derive(Default)]
struct Mention {
    /// Whether one has the ARN of the cluster: another account's cluster may have the same name.
    is_certain: bool,
    owners: BTreeSet<EntryOwner>,
}

/// Skips the login tokens of tasks that may be of another account's cluster of the same name.
fn skip_login_tokens(cluster: &ClusterArn, tasks: &BTreeSet<TaskId>, world: &mut World) {
    let belongs = |login: &LoginMark| tasks.contains(&login.task) && cluster.is_named_by(&login.cluster);
    world.observed.tokens.retain(|token| !token.login().is_some_and(belongs));
    world.skipped.extend(tasks.iter().map(|id| Skipped {
        cluster: cluster.clone(),
        what: format!("login token of task {id}"),
        why: "it names the cluster without an account, and ECS does not know the task".to_owned(),
    }));
}

/// Whether the metadata of an instance has the long ARN of a task of `cluster`.
fn names_cluster(instance: &ServiceInstance, cluster: &ClusterArn) -> bool {
    instance.task_arn.as_ref().is_some_and(|arn| *arn == TaskArn::in_cluster(cluster, &instance.task))
}

/// The tasks of `cluster` with entries in Consul.
fn mentioned<'a>(observed: &'a Observed, cluster: &ClusterArn) -> BTreeMap<&'a TaskId, Mention> {
    let mut mentioned: BTreeMap<&TaskId, Mention> = BTreeMap::new();
    let mut mention = |id, is_certain, owner| {
        let mention = mentioned.entry(id).or_default();
        mention.is_certain |= is_certain;
        mention.owners.insert(owner);
    };
    for token in &observed.tokens {
        if let Some(login) = token.login().filter(|login| cluster.is_named_by(&login.cluster)) {
            mention(&login.task, login.cluster == cluster.as_str(), EntryOwner::of_token(token));
        }
    }
    for instance in observed.instances.iter().filter(|instance| instance.node == cluster.as_str()) {
        mention(&instance.task, true, EntryOwner::of_instance(instance));
    }
    for instance in observed.agents.iter().flat_map(|agent| &agent.node.instances) {
        if names_cluster(instance, cluster) {
            mention(&instance.task, true, EntryOwner::of_instance(instance));
        }
    }
    mentioned
}

/// Removes uncertain tokens from what was observed.
pub(super) fn skip_uncertain_tokens(scope: &Scope, world: &mut World) {
    let World { observed, skipped, out_of_reach, readings, .. } = world;
    let (secrets, tasks) = (&observed.secrets, &observed.tasks);
    let is_required = |holder: &TokenHolder| {
        let mut active = tasks.iter().filter(|task| task.phase == TaskPhase::Active);
        active.any(|task| task.identity.as_ref().is_some_and(|it| scope.tokens().required(it).contains(holder)))
    };
    let first = readings.first().map(|reading| reading.cluster.clone());
    observed.tokens.retain(|token| {
        let Some(mark) = token.mark().filter(|mark| mark.service.is_some()) else {
            return true;
        };
        let Some(cluster) = scope.clusters.cluster_named_by(&mark.cluster).or_else(|| first.clone()) else {
            return true;
        };
        let Some(holder) = scope.names.holder_of(mark, &token.tenancy) else { return true };
        if let Some(outside) = mark.cluster_outside(&scope.clusters).filter(|_| !is_required(&holder)) {
            let (what, why) = (format!("token {} of {holder}", token.accessor), used_outside(outside));
            skipped.push(Skipped { cluster, what, why });
            return false;
        }
        let uncertain = match secrets.get(&holder) {
            Some(secret) => uncertainty(scope, token, mark, &holder, secret),
            None if out_of_reach.contains(&holder) => Some(out_of_reach_of_role(&scope.names.of(&holder))),
            // Its secret could not be read, which is a problem in the report.
            None => return mark.has_arn_of(&scope.clusters),
        };
        let Some(why) = uncertain else { return true };
        skipped.push(Skipped { cluster, what: format!("token {} of {holder}", token.accessor), why });
        false
    });
}

fn out_of_reach_of_role(secret: &str) -> String {
    format!(
        "the secret {secret} does not exist or has another creator, so with TokenMode=auth-method the role may not read it; \
         delete the token if no task reads it"
    )
}

/// Why it is not certain that a token is this deployment's.
fn uncertainty(
    scope: &Scope,
    token: &ListedToken,
    mark: &HolderMark,
    holder: &TokenHolder,
    secret: &StoredSecret,
) -> Option<String> {
    // Another account may have a cluster of that name.
    if !mark.has_arn_of(&scope.clusters) && !secret.names(token.accessor) {
        return Some("it names the cluster without an account, and the secret does not contain it".to_owned());
    }
    // A token of consul-ecs's controller, whose secret may have another prefix, so that a task may read it.
    let is_elsewhere = mark.secret.is_none() && !secret.names(token.accessor);
    (scope.token_mode == TokenMode::Auto && is_elsewhere).then(|| {
        let name = scope.names.of(holder);
        format!("the secret {name} does not contain it, but another secret may; delete the token if no task reads it")
    })
}
