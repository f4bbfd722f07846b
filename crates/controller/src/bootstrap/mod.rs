//! The bootstrap: creates the objects in Consul that tasks require, at each deployment and once per hour.

mod objects;
mod upsert;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use aws::ecs::ClusterStatus;
use consul::{ConsulError, Object};
use jiff::Timestamp;
use mesh::{
    arn::ClusterArn,
    scope::BootstrapExtent,
    settings::{Mode, TokenMode},
    tenancy::{Tenancy, TenancyName},
    time::elapsed,
};
use observe::{CallError, ClusterStatuses, Deadline, TimestampCache, namesakes};

pub use self::{
    objects::client_agent_policy,
    upsert::{BootstrapError, BootstrapFailure, BootstrapReport, merge},
};
use self::{
    objects::{
        BootstrapTarget, auth_methods, cross_namespace_policy, namespace_object, partition_object, synthetic_node,
    },
    upsert::Upserter,
};
use crate::{context::Context, edges::Writes, error::ControllerError};

/// How often an execution environment runs the bootstrap.
const BOOTSTRAP_INTERVAL: Duration = Duration::from_hours(1);
/// The most namespaces that the tags of one cluster's tasks create in one sweep or batch.
const MOST_NEW_NAMESPACES: usize = 10;
/// How long a node that was seen is not read again: the events of a deployment share a read.
const NODE_SEEN_FOR: Duration = Duration::from_mins(1);

/// A cluster, and a tenancy of its tasks.
pub type ClusterPlace = (ClusterArn, Tenancy);

/// The nodes or namespaces that could not be created, and why.
pub type NotCreated = BTreeMap<ClusterPlace, Arc<ControllerError>>;

/// The last successful run of the bootstrap.
struct LastRun {
    at: Timestamp,
    /// The clusters with a synthetic node.
    clusters: BTreeSet<ClusterArn>,
}

pub(crate) struct Bootstrap {
    context: Arc<Context>,
    upserter: Upserter,
    /// The last successful run in this execution environment.
    last_run: Mutex<Option<LastRun>>,
    /// When the namespaces of tasks were last seen or created.
    namespaces: TimestampCache<Tenancy>,
    /// The same for the nodes of clusters.
    nodes: TimestampCache<ClusterPlace>,
}

impl Bootstrap {
    /// A bootstrap with the writes of a mode.
    pub(crate) fn new(context: &Arc<Context>, mode: Mode, writes: &Writes) -> Self {
        Self {
            context: Arc::clone(context),
            upserter: Upserter { context: Arc::clone(context), mode, writes: writes.clone() },
            last_run: Mutex::default(),
            namespaces: TimestampCache::default(),
            nodes: TimestampCache::default(),
        }
    }

    /// Creates the objects that the deployment requires. A failed object does not prevent the others, except those that
    /// refer to it.
    pub(crate) async fn run(&self, deadline: Deadline) -> BootstrapReport {
        let statuses = if self.creates_nodes() {
            self.context.observer.cluster_statuses(&[], deadline).await
        } else {
            Ok(BTreeMap::new())
        };
        self.run_for(&statuses, deadline).await
    }

    /// Runs the bootstrap with statuses of clusters that were read before.
    pub(crate) async fn run_for(&self, statuses: &ClusterStatuses, deadline: Deadline) -> BootstrapReport {
        let mut report = BootstrapReport::default();
        let scope = &self.context.scope;
        if scope.bootstrap.extent == BootstrapExtent::None {
            return report;
        }
        if let (true, Err(error)) = (self.creates_nodes(), statuses) {
            report.fail("the clusters' nodes".to_owned(), error.clone().into());
        }
        let active = active(statuses);
        let is_primary = scope.token_mode != TokenMode::SecretsManager && self.is_primary(deadline, &mut report).await;
        for tenancy in scope.tenancies().into_keys() {
            if !self.bootstrap_partition(tenancy, is_primary, deadline, &mut report).await {
                continue;
            }
            let nodes = active.iter().filter(|cluster| scope.tenancies_of(cluster).contains(tenancy));
            let nodes: Vec<ClusterPlace> = nodes.map(|cluster| (cluster.clone(), tenancy.clone())).collect();
            self.ensure_nodes(&nodes, deadline, &mut report).await;
        }
        // After a failure the next sweep runs it again, and so it does while Consul cannot have an object.
        let is_complete = report.failures.is_empty() && report.not_created.is_empty() && report.skipped.is_empty();
        let done = is_complete.then(|| LastRun { at: self.context.now(), clusters: active });
        *self.last_run.lock().unwrap_or_else(PoisonError::into_inner) = done;
        report
    }

    /// Runs the bootstrap if the last run was more than [`BOOTSTRAP_INTERVAL`] ago, because other writers may have
    /// changed shared objects, or if a cluster was added since, or if an auth method is missing: without it no task
    /// starts.
    pub(crate) async fn run_if_due(&self, statuses: &ClusterStatuses, deadline: Deadline) -> BootstrapReport {
        let mut report = BootstrapReport::default();
        if self.is_set_up_for(statuses) && self.has_auth_methods(deadline, &mut report).await {
            return report;
        }
        self.run_for(statuses, deadline).await
    }

    fn is_set_up_for(&self, statuses: &ClusterStatuses) -> bool {
        let mut last = self.last_run.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_mut().is_some_and(|last| {
            let is_recent = is_recent(Some(last.at), self.context.now());
            let Ok(_) = statuses else { return is_recent };
            let active = active(statuses);
            // A deleted cluster may be created again, and then requires a node.
            last.clusters.retain(|cluster| active.contains(cluster));
            is_recent && (!self.creates_nodes() || last.clusters == active)
        })
    }

    /// Whether clusters get synthetic nodes: tasks that log in register on them.
    pub(crate) fn creates_nodes(&self) -> bool {
        self.context.scope.sets_up_logins()
    }

    /// Sets up a partition. Whether it exists: everything else requires it.
    async fn bootstrap_partition(
        &self,
        tenancy: &Tenancy,
        is_primary: bool,
        deadline: Deadline,
        report: &mut BootstrapReport,
    ) -> bool {
        if let Tenancy::Enterprise { partition, .. } = tenancy
            && !self.ensure_partition(partition, deadline, report).await
        {
            return false;
        }
        let scope = &self.context.scope;
        let principals = scope.bootstrap.iam_role_path.principals(&scope.clusters);
        let desired = BootstrapTarget {
            extent: scope.bootstrap.extent,
            principals: &principals,
            token_mode: scope.token_mode,
            tenancy,
            is_primary,
        };
        self.upserter.ensure(&objects::desired(&desired), deadline, report).await;
        true
    }

    /// Creates the partition if it is missing. Whether it exists now.
    async fn ensure_partition(
        &self,
        partition: &TenancyName,
        deadline: Deadline,
        report: &mut BootstrapReport,
    ) -> bool {
        let object = partition_object(partition);
        self.upserter.ensure(std::slice::from_ref(&object), deadline, report).await;
        !report.has_failed(&object)
    }

    /// Whether this datacenter is the primary one, which has the anonymous token.
    async fn is_primary(&self, deadline: Deadline, report: &mut BootstrapReport) -> bool {
        match deadline.run(self.context.observer.consul.is_primary()).await {
            Ok(is_primary) => is_primary,
            Err(error) => {
                report.fail("Consul's datacenter".to_owned(), error.into());
                false
            }
        }
    }

    /// Creates the missing namespaces that the tags of clusters' tasks name (Enterprise), before the tasks get tokens there or log
    /// in: at most [`MOST_NEW_NAMESPACES`] of each cluster. Those that this execution environment has seen within
    /// [`BOOTSTRAP_INTERVAL`] are not read again. Only partitions that the settings name are read.
    pub(crate) async fn create_namespaces(&self, of: &BTreeSet<ClusterPlace>, deadline: Deadline) -> NotCreated {
        let mut failed = NotCreated::new();
        if self.context.scope.bootstrap.extent == BootstrapExtent::None {
            return failed;
        }
        let now = self.context.now();
        let is_known = |tenancy: &Tenancy| is_recent(self.namespaces.get(tenancy), now);
        let new: Vec<&ClusterPlace> = of.iter().filter(|(_, tenancy)| !is_known(tenancy)).collect();
        let mut partitions: BTreeMap<&TenancyName, Vec<&ClusterPlace>> = BTreeMap::new();
        for place in &new {
            if let Some(partition) = place.1.partition() {
                partitions.entry(partition).or_default().push(place);
            }
        }
        for (partition, mut wanted) in partitions {
            // A random start, so that namespaces that Consul refuses do not keep the others waiting for ever.
            let start = fastrand::usize(..wanted.len());
            wanted.rotate_left(start);
            match self.create_in(partition, &wanted, deadline).await {
                Ok(some) => failed.extend(some),
                Err(error) => failed.extend(fail_all(&wanted, error)),
            }
        }
        for place in new.into_iter().filter(|place| !failed.contains_key(place)) {
            self.namespaces.insert(place.1.clone(), now);
        }
        failed
    }

    /// Creates the missing namespaces of one partition.
    ///
    /// # Errors
    /// The partition could not be created or read.
    async fn create_in(
        &self,
        partition: &TenancyName,
        wanted: &[&ClusterPlace],
        deadline: Deadline,
    ) -> Result<NotCreated, ControllerError> {
        let mut report = BootstrapReport::default();
        self.ensure_partition(partition, deadline, &mut report).await;
        if let Some(failure) = report.failures.pop() {
            return Err(failure.error.into());
        }
        let known = deadline.run(self.context.observer.consul.namespaces(partition)).await?;
        let is_missing = |place: &&&ClusterPlace| place.1.namespace().is_some_and(|name| !known.contains(name));
        let mut by_cluster: BTreeMap<&ClusterArn, Vec<&ClusterPlace>> = BTreeMap::new();
        for place in wanted.iter().filter(is_missing) {
            by_cluster.entry(&place.0).or_default().push(place);
        }
        let (mut missing, mut failed) = (Vec::<&ClusterPlace>::new(), NotCreated::new());
        for (cluster, places) in by_cluster {
            let (now, later) = places.split_at(places.len().min(MOST_NEW_NAMESPACES));
            let (what, waiting) = (format!("new namespaces of the tasks of cluster {}", cluster.name()), later.len());
            failed.extend(fail_all(later, CallError::OverLimit { what, most: MOST_NEW_NAMESPACES, waiting }.into()));
            missing.extend(now);
        }
        let namespace = |place: &ClusterPlace| Some(namespace_object(partition, place.1.namespace()?));
        let names: BTreeMap<&Tenancy, Object> =
            missing.iter().filter_map(|place| Some((&place.1, namespace(place)?))).collect();
        if !names.is_empty() {
            let home = Tenancy::default_namespace_of(partition.clone());
            let objects = [cross_namespace_policy(&home, partition)].into_iter().chain(names.into_values());
            self.upserter.ensure(&objects.collect::<Vec<_>>(), deadline, &mut report).await;
        }
        let objects = missing.iter().filter_map(|place| Some((*place, namespace(place)?)));
        report.set_apart(objects, refused_namespace);
        failed.extend(report.not_created);
        // The policy that each namespace refers to
        if let Some(failure) = report.failures.pop() {
            failed.extend(fail_all(&missing, failure.error.into()));
        }
        Ok(failed)
    }

    /// Creates the missing nodes of clusters, each in the tenancies of its tasks: a new cluster has none before the next
    /// sweep, an existing one may have been deregistered, and without it no task can register its services. Those that
    /// this execution environment has seen within [`NODE_SEEN_FOR`] are not read again. Returns which were missing, too.
    pub(crate) async fn create_nodes(
        &self,
        of: &BTreeSet<ClusterPlace>,
        deadline: Deadline,
    ) -> (Vec<ClusterPlace>, NotCreated) {
        let now = self.context.now();
        let is_known =
            |node: &ClusterPlace| self.nodes.get(node).is_some_and(|seen| elapsed(seen, now) < NODE_SEEN_FOR);
        let new: Vec<_> = of.iter().filter(|node| !is_known(node)).cloned().collect();
        let mut report = BootstrapReport::default();
        let created = self.ensure_nodes(&new, deadline, &mut report).await;
        (created, report.not_created)
    }

    /// Creates the missing ones of these nodes.
    pub(crate) async fn create_missing(&self, nodes: &[ClusterPlace], deadline: Deadline) -> NotCreated {
        let mut report = BootstrapReport::default();
        self.ensure_nodes(nodes, deadline, &mut report).await;
        report.not_created
    }

    /// Consul does not have the node: the next event of an active task reads it again.
    pub(crate) fn forget_node(&self, node: &ClusterPlace) {
        self.nodes.remove(node);
    }

    /// Creates the missing ones of these nodes, and returns them.
    async fn ensure_nodes(
        &self,
        nodes: &[ClusterPlace],
        deadline: Deadline,
        report: &mut BootstrapReport,
    ) -> Vec<ClusterPlace> {
        let mut created = Vec::new();
        if nodes.is_empty() || !self.creates_nodes() {
            return created;
        }
        // The nodes of one cluster in several partitions have the same name.
        let mut by_tenancy: BTreeMap<&Tenancy, Vec<&ClusterPlace>> = BTreeMap::new();
        for node in nodes {
            by_tenancy.entry(&node.1).or_default().push(node);
        }
        for nodes in by_tenancy.into_values() {
            let objects: Vec<Object> =
                nodes.iter().map(|(cluster, tenancy)| synthetic_node(tenancy, cluster)).collect();
            self.upserter.ensure(&objects, deadline, report).await;
            let is_created = |object: &Object| report.created.contains(&object.to_string());
            let of_created = nodes.iter().zip(&objects).filter(|(_, object)| is_created(object));
            created.extend(of_created.map(|(node, _)| (*node).clone()));
            let refused = |error: ConsulError| ControllerError::NotSetUp(error.to_string());
            report.set_apart(nodes.iter().copied().zip(objects), refused);
        }
        let now = self.context.now();
        for node in nodes.iter().filter(|node| !report.not_created.contains_key(node)) {
            self.nodes.insert(node.clone(), now);
        }
        created
    }

    /// Whether Consul has the auth methods that can be read.
    async fn has_auth_methods(&self, deadline: Deadline, report: &mut BootstrapReport) -> bool {
        let scope = &self.context.scope;
        if !self.creates_nodes() {
            return true;
        }
        for tenancy in scope.tenancies().into_keys() {
            for method in auth_methods(tenancy, scope.bootstrap.extent) {
                match deadline.run(self.context.observer.consul.read(&method)).await {
                    Ok(Some(_)) => {}
                    Ok(None) => return false,
                    Err(error) => report.fail(method.to_string(), error.into()),
                }
            }
        }
        true
    }
}

/// The active clusters that are managed: see [`namesakes`]. A node of any other cluster would never be removed.
pub(crate) fn active(statuses: &ClusterStatuses) -> BTreeSet<ClusterArn> {
    let Ok(statuses) = statuses else { return BTreeSet::new() };
    let active = statuses.iter().filter(|(_, status)| matches!(status, ClusterStatus::Active { .. }));
    let active: BTreeSet<ClusterArn> = active.map(|(cluster, _)| cluster.clone()).collect();
    active.difference(&namesakes(statuses)).cloned().collect()
}

/// The same error for each of these places.
fn fail_all(places: &[&ClusterPlace], error: ControllerError) -> NotCreated {
    let error = Arc::new(error);
    places.iter().map(|place| ((*place).clone(), Arc::clone(&error))).collect()
}

/// Why Consul refuses a namespace: for good because of its name, which is a task's tag. Consul answers with status 500 to names that
/// are reserved.
fn refused_namespace(error: ConsulError) -> ControllerError {
    match &error {
        ConsulError::Refused { status, reason, .. } if *status < 500 || reason.contains("reserved") => {
            ControllerError::RefusedByConsul(error)
        }
        _ => ControllerError::NotSetUp(error.to_string()),
    }
}

/// Whether an object was seen within [`BOOTSTRAP_INTERVAL`].
fn is_recent(seen: Option<Timestamp>, now: Timestamp) -> bool {
    seen.is_some_and(|seen| elapsed(seen, now) < BOOTSTRAP_INTERVAL)
}
