//! Reads what a plan needs of the tasks that events are about: their identity, and the entries in Consul of stopping and stopped
//! ones.
//!
//! A failed read is an error of the tasks that it concerns, never an absence.

use std::collections::{BTreeMap, BTreeSet};

use consul::TokenSearch;
use mesh::{
    arn::{ClusterArn, TaskArn, TaskId},
    catalog::{ClientAgent, HealthCheck, ServiceInstance},
    definition::Classification,
    identity::MeshService,
    names::ServiceName,
    plan::{NeededTokens, Observed},
    scope::Scope,
    tags::Tags,
    task::{MeshTask, TaskChange, TaskPhase},
    tenancy::Tenancy,
    token::ListedToken,
};

use crate::{
    clock::Deadline,
    concurrency::concurrently_in_order,
    definitions::Definitions,
    error::CallError,
    observer::{Observer, client_agents},
};

/// Why tasks could not be read: see [`keep_retryable`].
pub type ReadErrors = BTreeMap<TaskArn, CallError>;

/// Adds the error of one thing. Of several errors it keeps one that a retry can help: a message with an error that only an author
/// can correct is acknowledged.
pub fn keep_retryable<K: Ord, E>(
    errors: &mut BTreeMap<K, E>,
    failed: K,
    error: E,
    needs_correction: impl FnOnce(&E) -> bool,
) {
    if errors.get(&failed).is_none_or(needs_correction) {
        errors.insert(failed, error);
    }
}

impl Observer {
    /// The mesh tasks among `changes`, and the errors of those whose identity could not be read. Tasks outside the mesh
    /// are in neither.
    pub async fn mesh_tasks(&self, changes: &[TaskChange], deadline: Deadline) -> (Vec<MeshTask>, ReadErrors) {
        let arns = changes.iter().map(|change| &change.definition);
        let definitions = self.definitions(arns, deadline).await;
        let (task_tags, mut failures) = self.undecided_task_tags(changes, &definitions, deadline).await;
        let mut tasks = Vec::new();
        for change in changes {
            if failures.contains_key(&change.arn) {
                continue;
            }
            match self.changed_task(change, task_tags.get(&change.arn), &definitions) {
                Ok(task) => tasks.extend(task),
                Err(error) => drop(failures.insert(change.arn.clone(), error)),
            }
        }
        (tasks, failures)
    }

    fn changed_task(
        &self,
        change: &TaskChange,
        tags: Option<&Tags>,
        definitions: &Definitions,
    ) -> Result<Option<MeshTask>, CallError> {
        let definition = definitions.get(&change.definition);
        let losses = definition.map(|it| it.losses(&change.stopped_containers)).unwrap_or_default();
        let task = |tenancy: &Tenancy, identity| MeshTask {
            stopped_at: change.end.as_ref().and_then(|end| end.stopped_at),
            identity,
            secrets: definition.map(|it| it.secrets.clone()).unwrap_or_default(),
            runs_client_agent: definition.is_some_and(|it| it.runs_client_agent()),
            losses: self.scope.counted(losses, change.is_disconnected),
            ..MeshTask::unidentified(change.arn.clone(), change.cluster.clone(), change.phase, tenancy.clone())
        };
        let default_tenancy = self.scope.tenancy_of(&change.cluster);
        let is_stopped = change.phase == TaskPhase::Stopped;
        let classified = definitions.classify(&change.definition, tags, default_tenancy, self.scope.tokens());
        match classified.map(|it| self.scope.in_named_partition(it, change.phase)) {
            Ok(Classification::Member(identity)) => {
                self.log_contradiction(&change.definition, definitions, &identity);
                Ok(Some(task(&identity.service.tenancy.clone(), Some(identity))))
            }
            // Its entries in Consul are found by its ID.
            Ok(Classification::TagsUnknown) if is_stopped => Ok(Some(task(default_tenancy, None))),
            Err(error) if is_stopped && error.is_unknown_definition() => Ok(Some(task(default_tenancy, None))),
            Ok(Classification::TagsUnknown) if !self.may_be_forgotten(change) => {
                Err(CallError::NotDescribedYet(change.arn.clone()))
            }
            Ok(Classification::Outside | Classification::TagsUnknown) => Ok(None),
            Ok(Classification::Invalid(reason)) => {
                self.ecs.forget(&change.definition);
                if change.phase == TaskPhase::Active {
                    return Err(reason.into());
                }
                Ok(Some(task(default_tenancy, None)))
            }
            Err(error) => Err(error),
        }
    }

    /// The tags of tasks whose definitions do not determine whether they are in the mesh.
    async fn undecided_task_tags(
        &self,
        changes: &[TaskChange],
        definitions: &Definitions,
        deadline: Deadline,
    ) -> (BTreeMap<TaskArn, Tags>, ReadErrors) {
        let mut undecided: BTreeMap<&ClusterArn, Vec<TaskArn>> = BTreeMap::new();
        for change in changes {
            let default_tenancy = self.scope.tenancy_of(&change.cluster);
            if definitions.needs_task_tags(&change.definition, default_tenancy, self.scope.tokens()) {
                undecided.entry(&change.cluster).or_default().push(change.arn.clone());
            }
        }
        let (mut tags, mut failures) = (BTreeMap::new(), ReadErrors::new());
        for (cluster, tasks) in undecided {
            match deadline.run(self.ecs.describe_tasks(cluster, &tasks)).await {
                Ok(described) => tags.extend(described.into_iter().map(|task| (task.arn, task.tags))),
                Err(error) => failures.extend(same_for(&tasks, &error)),
            }
        }
        (tags, failures)
    }

    /// The entries in Consul of the stopping and stopped ones among `tasks`. Tasks with a failed read are in the
    /// failures, and not in the observation.
    pub async fn observe(&self, tasks: Vec<MeshTask>, deadline: Deadline) -> (Observed, ReadErrors) {
        let (mut observed, mut failures) = (Observed::default(), ReadErrors::new());
        let needed = NeededTokens::of(&tasks, &self.scope.clusters);
        let (texts, is_needed) = (needed.texts(), |token: &ListedToken| needed.contains(token));
        // Concurrently: a slow cluster, service or partition must not delay the others.
        let (texts, is_needed) = (&texts, &is_needed);
        let tokens = by_partition(&tasks).into_iter().map(|(tenancy, stopped)| async move {
            let search = TokenSearch { texts, service: only_identity(&self.scope, &stopped) };
            let found = deadline.run(self.consul.tokens_with(&tenancy, search, is_needed)).await;
            found.map_err(|error| same_for(stopped.iter().map(|task| &task.arn), &error))
        });
        let catalogs = by_node(&tasks).into_iter().map(|((cluster, tenancy), ending)| async move {
            let found = deadline.run(self.catalog_of(&cluster, &tenancy, &ending)).await;
            let found = found.map(|found| found.ok_or_else(|| (cluster.clone(), tenancy.home())));
            found.map_err(|error| same_for(ending.iter().map(|task| &task.arn), &error))
        });
        let agents = by_service(&tasks).into_iter().map(|(service, stopped)| async move {
            let found = deadline.run(self.agents_of(&service, &stopped)).await;
            found.map_err(|error| same_for(stopped.iter().map(|task| &task.arn), &error))
        });
        let (tokens, catalogs, agents) = futures::join!(
            concurrently_in_order(tokens),
            concurrently_in_order(catalogs),
            concurrently_in_order(agents)
        );
        for found in tokens {
            let found = found.unwrap_or_else(|failed| record_failures(failed, &mut failures));
            observed.tokens.extend(found.into_iter().flatten());
        }
        for found in catalogs {
            match found {
                Ok(Ok((instances, checks))) => {
                    observed.instances.extend(instances);
                    observed.checks.extend(checks);
                }
                Ok(Err(lost_node)) => drop(observed.lost_nodes.insert(lost_node)),
                Err(failed) => record_failures(failed, &mut failures),
            }
        }
        for found in agents {
            observed.agents.extend(found.unwrap_or_else(|failed| record_failures(failed, &mut failures)));
        }
        observed.tasks = tasks.into_iter().filter(|task| !failures.contains_key(&task.arn)).collect();
        (observed, failures)
    }

    /// The client agents with services of stopped tasks on their nodes.
    async fn agents_of(&self, service: &MeshService, stopped: &[&MeshTask]) -> Result<Vec<ClientAgent>, CallError> {
        let ids: Vec<TaskId> = stopped.iter().map(|task| task.arn.id().clone()).collect();
        let instances = self.consul.instances_of(&service.name, &service.tenancy, &ids).await?;
        let is_synthetic = |node: &String| self.scope.clusters.has_arn(node);
        let nodes: BTreeSet<String> = instances.into_iter().map(|instance| instance.node).collect();
        let nodes: Vec<String> = nodes.into_iter().filter(|node| !is_synthetic(node)).collect();
        if nodes.is_empty() {
            return Ok(Vec::new());
        }
        let members = self.consul.members(&service.tenancy).await?;
        let members = members.into_iter().filter(|member| nodes.contains(&member.name)).collect();
        client_agents(self.consul.as_ref(), members, &service.tenancy).await
    }

    /// What the catalog has of these tasks; `None` if the node of their cluster does not exist.
    async fn catalog_of(
        &self,
        cluster: &ClusterArn,
        tenancy: &Tenancy,
        ending: &[&MeshTask],
    ) -> Result<Option<(Vec<ServiceInstance>, Vec<HealthCheck>)>, CallError> {
        let id = |task: &&MeshTask| task.arn.id().clone();
        let ids: Vec<TaskId> = ending.iter().map(id).collect();
        let draining: Vec<TaskId> = ending.iter().filter(|task| task.drain_reason().is_some()).map(id).collect();
        let instances = self.consul.instances(cluster, tenancy, &ids);
        let checks = self.consul.checks(cluster, tenancy, &draining);
        let (instances, checks) = futures::try_join!(instances, checks)?;
        Ok(instances.map(|instances| (instances, checks)))
    }
}

/// Records the failures of a read, and returns an empty result.
fn record_failures<T: Default>(failed: ReadErrors, failures: &mut ReadErrors) -> T {
    for (task, error) in failed {
        keep_retryable(failures, task, error, CallError::needs_correction);
    }
    T::default()
}

/// The service whose identity the tokens of these stopped tasks have: the binding rules that the bootstrap creates give it to each
/// login.
///
/// `None` if the whole list has to be read: rules of another creator, gateways and client agents may log in for a role only. In
/// Enterprise, tokens of one partition may be in any namespace. Of several services the whole list is read once, because servers
/// that ignore the filter would send it for each of them.
///
/// A token that a stopped task got for another service is missing, which no plan takes for anything but a token that need not be
/// deleted now. The sweep reads all tokens, and deletes it.
fn only_identity<'a>(scope: &Scope, stopped: &[&'a MeshTask]) -> Option<&'a ServiceName> {
    let identity = |task: &&'a MeshTask| {
        let identity = task.identity.as_ref()?;
        let is_service = identity.gateway.is_none() && !task.runs_client_agent;
        (is_service && identity.service.tenancy == Tenancy::Community).then_some(&identity.service.name)
    };
    let mut identities = stopped.iter().map(identity);
    let first = identities.next()??;
    (scope.sets_up_logins() && identities.all(|other| other == Some(first))).then_some(first)
}

/// The stopped tasks, by the partition of their tokens.
fn by_partition(tasks: &[MeshTask]) -> Vec<(Tenancy, Vec<&MeshTask>)> {
    let mut groups: BTreeMap<_, (Tenancy, Vec<&MeshTask>)> = BTreeMap::new();
    for task in tasks.iter().filter(|task| task.phase == TaskPhase::Stopped) {
        let group =
            groups.entry(task.tenancy.partition().cloned()).or_insert_with(|| (task.tenancy.clone(), Vec::new()));
        group.1.push(task);
    }
    groups.into_values().collect()
}

/// The stopped tasks with a client agent, by service.
fn by_service(tasks: &[MeshTask]) -> BTreeMap<MeshService, Vec<&MeshTask>> {
    let mut groups: BTreeMap<_, Vec<&MeshTask>> = BTreeMap::new();
    for task in tasks.iter().filter(|task| task.phase == TaskPhase::Stopped && task.runs_client_agent) {
        if let Some(identity) = &task.identity {
            groups.entry(identity.service.clone()).or_default().push(task);
        }
    }
    groups
}

/// The stopped tasks and those to be drained, by catalog node and tenancy.
fn by_node(tasks: &[MeshTask]) -> BTreeMap<(ClusterArn, Tenancy), Vec<&MeshTask>> {
    let mut groups: BTreeMap<_, Vec<&MeshTask>> = BTreeMap::new();
    let is_ending = |task: &&MeshTask| task.phase == TaskPhase::Stopped || task.drain_reason().is_some();
    for task in tasks.iter().filter(is_ending) {
        groups.entry((task.cluster.clone(), task.tenancy.clone())).or_default().push(task);
    }
    groups
}

/// The same error for each of `tasks`.
fn same_for<'a>(tasks: impl IntoIterator<Item = &'a TaskArn>, error: &CallError) -> ReadErrors {
    tasks.into_iter().map(|task| (task.clone(), error.clone())).collect()
}
