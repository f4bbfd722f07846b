//! The bootstrap: creates the objects in Consul that tasks require, at each deployment and once per hour.

mod auth_method;
mod desired;
mod enterprise;
pub mod merge;
mod on_demand;
pub mod policy;
mod report;
mod scope;
mod upsert;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use aws::ecs::ClusterStatus;
use consul::ConsulBootstrap;
use jiff::Timestamp;
use mesh::{
    arn::ClusterArn,
    tenancy::{Tenancy, TenancyName},
    time::elapsed,
    token_mode::TokenMode,
};

use self::{
    desired::{BootstrapTarget, objects},
    upsert::Upserter,
};
pub use self::{
    report::{BootstrapError, BootstrapFailure, BootstrapReport},
    scope::{BootstrapExtent, BootstrapScope, IamRolePath},
};
use crate::{
    deadline::Deadline,
    edges::Edges,
    error::ControllerError,
    tasks::{ClusterStatuses, TaskReader},
    timestamp_cache::TimestampCache,
};

/// How often an execution environment runs the bootstrap.
const BOOTSTRAP_INTERVAL: Duration = Duration::from_hours(1);

/// The last successful run of the bootstrap.
struct LastRun {
    at: Timestamp,
    /// The clusters with a synthetic node.
    clusters: BTreeSet<ClusterArn>,
}

/// Runs the bootstrap.
pub(crate) struct Bootstrap {
    tasks: TaskReader,
    consul: Arc<dyn ConsulBootstrap>,
    upserter: Upserter,
    /// The last successful run in this execution environment.
    last_run: Mutex<Option<LastRun>>,
    /// When the namespaces of tasks were last seen or created.
    namespaces: TimestampCache<Tenancy>,
    /// The same for the nodes of clusters.
    nodes: TimestampCache<(ClusterArn, Tenancy)>,
}

impl Bootstrap {
    pub(crate) fn new(edges: &Edges, tasks: &TaskReader) -> Self {
        let consul: Arc<dyn ConsulBootstrap> = edges.bootstrap.clone();
        let upserter =
            Upserter { consul: Arc::clone(&consul), mode: tasks.scope.mode, operation: tasks.scope.operation };
        Self {
            tasks: tasks.clone(),
            consul,
            upserter,
            last_run: Mutex::default(),
            namespaces: TimestampCache::new(),
            nodes: TimestampCache::new(),
        }
    }

    /// Creates the objects that the deployment requires. A failed object does not prevent the others, except those that
    /// refer to it.
    pub(crate) async fn run(&self, deadline: Deadline) -> BootstrapReport {
        let statuses =
            if self.creates_nodes() { self.tasks.cluster_statuses(&[], deadline).await } else { Ok(BTreeMap::new()) };
        self.run_for(&statuses, deadline).await
    }

    /// Runs the bootstrap with statuses of clusters that were read before.
    pub(crate) async fn run_for(&self, statuses: &ClusterStatuses, deadline: Deadline) -> BootstrapReport {
        let mut report = BootstrapReport::default();
        let scope = &self.tasks.scope;
        if scope.bootstrap.extent == BootstrapExtent::None {
            return report;
        }
        if let (true, Err(error)) = (self.creates_nodes(), statuses) {
            report.fail("the clusters' nodes".to_owned(), ControllerError::from(Arc::clone(error)).into());
        }
        let active = active(statuses);
        let is_primary = scope.mode != TokenMode::SecretsManager && self.is_primary(deadline, &mut report).await;
        for tenancy in scope.tenancies().into_keys() {
            let nodes = active.iter().filter(|cluster| scope.tenancies_of(cluster).contains(tenancy));
            let nodes: Vec<&ClusterArn> = nodes.collect();
            self.bootstrap_partition(tenancy, &nodes, is_primary, deadline, &mut report).await;
        }
        // After a failure the next sweep runs it again, and so it does while Consul cannot have an object.
        let done = (report.failures.is_empty() && report.skipped.is_empty())
            .then(|| LastRun { at: self.tasks.clock.now(), clusters: active });
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
            let is_recent = elapsed(last.at, self.tasks.clock.now()) < BOOTSTRAP_INTERVAL;
            let Ok(_) = statuses else { return is_recent };
            let active = active(statuses);
            // A deleted cluster may be created again, and then requires a node.
            last.clusters.retain(|cluster| active.contains(cluster));
            is_recent && (!self.creates_nodes() || last.clusters == active)
        })
    }

    /// Whether clusters get synthetic nodes: tasks that log in register on them.
    pub(crate) fn creates_nodes(&self) -> bool {
        self.tasks.scope.mode != TokenMode::SecretsManager && self.tasks.scope.bootstrap.extent != BootstrapExtent::None
    }

    async fn bootstrap_partition(
        &self,
        tenancy: &Tenancy,
        nodes: &[&ClusterArn],
        is_primary: bool,
        deadline: Deadline,
        report: &mut BootstrapReport,
    ) {
        // Every other object requires the partition.
        if let Tenancy::Enterprise { partition, .. } = tenancy
            && !self.ensure_partition(partition, deadline, report).await
        {
            return;
        }
        let scope = &self.tasks.scope;
        let principals = scope.bootstrap.iam_role_path.principals(&scope.clusters);
        let desired = BootstrapTarget {
            extent: scope.bootstrap.extent,
            principals: &principals,
            mode: scope.mode,
            nodes,
            tenancy,
            is_primary,
        };
        self.upserter.ensure(&objects(&desired), deadline, report).await;
    }

    /// Creates the partition if it is missing. Whether it exists now.
    async fn ensure_partition(
        &self,
        partition: &TenancyName,
        deadline: Deadline,
        report: &mut BootstrapReport,
    ) -> bool {
        let object = enterprise::partition(partition);
        self.upserter.ensure(std::slice::from_ref(&object), deadline, report).await;
        !report.has_failed(&object)
    }

    /// Whether this datacenter is the primary one, which has the anonymous token.
    async fn is_primary(&self, deadline: Deadline, report: &mut BootstrapReport) -> bool {
        match deadline.run(self.consul.is_primary()).await {
            Ok(is_primary) => is_primary,
            Err(error) => {
                report.fail("Consul's datacenter".to_owned(), error.into());
                false
            }
        }
    }
}

/// The active clusters. A node of any other cluster would never be removed.
fn active(statuses: &ClusterStatuses) -> BTreeSet<ClusterArn> {
    let statuses = statuses.iter().flatten();
    statuses
        .filter(|(_, status)| matches!(status, ClusterStatus::Active { .. }))
        .map(|(cluster, _)| cluster.clone())
        .collect()
}
