//! What starting tasks require: their auth methods and namespaces, and the nodes of their clusters.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use consul::Object;
use jiff::Timestamp;
use mesh::{
    arn::ClusterArn,
    tenancy::{Tenancy, TenancyName},
    time::elapsed,
};

use super::{
    BOOTSTRAP_INTERVAL, Bootstrap, auth_method, desired::synthetic_node, enterprise, report::BootstrapReport,
    scope::BootstrapExtent,
};
use crate::deadline::Deadline;

/// How long a node that was seen is not read again: the events of a deployment share a read.
const NODE_SEEN_FOR: Duration = Duration::from_mins(1);

impl Bootstrap {
    /// Creates the missing namespaces that the tags of tasks name (Enterprise), before the tasks get tokens there or log
    /// in. Those that this execution environment has seen within [`BOOTSTRAP_INTERVAL`] are not read again.
    pub(crate) async fn create_namespaces(&self, tenancies: &BTreeSet<Tenancy>, deadline: Deadline) -> BootstrapReport {
        let mut report = BootstrapReport::default();
        let now = self.tasks.clock.now();
        let is_known = |tenancy: &Tenancy| is_recent(self.namespaces.get(tenancy), now);
        let new: Vec<&Tenancy> = tenancies.iter().filter(|tenancy| !is_known(tenancy)).collect();
        let mut partitions: BTreeMap<&TenancyName, Vec<&TenancyName>> = BTreeMap::new();
        for tenancy in &new {
            if let Tenancy::Enterprise { partition, namespace } = tenancy {
                partitions.entry(partition).or_default().push(namespace);
            }
        }
        if self.tasks.scope.bootstrap.extent == BootstrapExtent::None {
            return report;
        }
        for (partition, wanted) in partitions {
            // No partition is created because a tag names it.
            if self.tasks.scope.has_partition(partition)
                && !self.ensure_partition(partition, deadline, &mut report).await
            {
                continue;
            }
            let Some(known) = self.namespaces(partition, deadline, &mut report).await else { continue };
            let missing: Vec<Object> = wanted
                .into_iter()
                .filter(|name| !known.contains(name))
                .map(|name| enterprise::namespace(partition, name))
                .collect();
            if !missing.is_empty() {
                let home = Tenancy::default_namespace_of(partition.clone());
                let mut objects = vec![enterprise::cross_namespace_policy(&home, partition)];
                objects.extend(missing);
                self.upserter.ensure(&objects, deadline, &mut report).await;
            }
        }
        if report.failures.is_empty() {
            for tenancy in new {
                self.namespaces.insert(tenancy.clone(), now);
            }
        }
        report
    }

    /// Creates the missing nodes of clusters, each in the tenancies of its tasks: a new cluster has none before the next
    /// sweep, an existing one may have been deregistered, and without it no task can register its services. Those that
    /// this execution environment has seen within [`NODE_SEEN_FOR`] are not read again.
    pub(crate) async fn create_nodes(&self, of: &BTreeSet<(ClusterArn, Tenancy)>, deadline: Deadline) {
        let now = self.tasks.clock.now();
        let is_known =
            |node: &(ClusterArn, Tenancy)| self.nodes.get(node).is_some_and(|seen| elapsed(seen, now) < NODE_SEEN_FOR);
        let new: Vec<_> = of.iter().filter(|node| !is_known(node)).cloned().collect();
        self.ensure_nodes(&new, deadline).await;
    }

    /// Creates the missing ones of these nodes.
    pub(crate) async fn ensure_nodes(&self, nodes: &[(ClusterArn, Tenancy)], deadline: Deadline) -> BootstrapReport {
        let mut report = BootstrapReport::default();
        if nodes.is_empty() || !self.creates_nodes() {
            return report;
        }
        let objects: Vec<Object> = nodes.iter().map(|(cluster, tenancy)| synthetic_node(tenancy, cluster)).collect();
        self.upserter.ensure(&objects, deadline, &mut report).await;
        if report.failures.is_empty() {
            let now = self.tasks.clock.now();
            for node in nodes {
                self.nodes.insert(node.clone(), now);
            }
        }
        report
    }

    /// Whether Consul has the auth methods, as far as they can be read.
    pub(super) async fn has_auth_methods(&self, deadline: Deadline, report: &mut BootstrapReport) -> bool {
        let scope = &self.tasks.scope;
        if !self.creates_nodes() {
            return true;
        }
        for tenancy in scope.tenancies().into_keys() {
            for method in auth_method::methods(tenancy, scope.bootstrap.extent) {
                match deadline.run(self.consul.read(&method)).await {
                    Ok(Some(_)) => {}
                    Ok(None) => return false,
                    Err(error) => report.fail(method.to_string(), error.into()),
                }
            }
        }
        true
    }

    /// The namespaces of a partition; `None` if they cannot be read, for example because there is no such partition.
    async fn namespaces(
        &self,
        partition: &TenancyName,
        deadline: Deadline,
        report: &mut BootstrapReport,
    ) -> Option<Vec<TenancyName>> {
        let read = deadline.run(self.consul.namespaces(partition)).await;
        read.map_err(|error| report.fail(format!("the namespaces of partition {partition}"), error.into())).ok()
    }
}

/// Whether an object was seen within [`BOOTSTRAP_INTERVAL`].
fn is_recent(seen: Option<Timestamp>, now: Timestamp) -> bool {
    seen.is_some_and(|seen| elapsed(seen, now) < BOOTSTRAP_INTERVAL)
}
