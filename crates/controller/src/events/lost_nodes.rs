//! Consul has lost the node of a cluster, and with it the registrations of all its tasks. `mesh-init` registers a task once, so only a
//! sweep registers them again, and the next one may be minutes away. Until then, the proxies of new tasks may get no configuration:
//! Consul admits [about as many streams as proxies are registered](https://developer.hashicorp.com/consul/docs/manage/scale/xds-load-balancing),
//! and those that it has lost keep theirs.
//!
//! So the first event that finds it orders a sweep of the cluster, by a message to the functions' own queue.

use std::{collections::BTreeSet, time::Duration};

use mesh::{arn::ClusterArn, settings::RepairMode, time::elapsed};
use observe::Deadline;
use tracing::{info, warn};

use super::TaskEvents;
use crate::{
    bootstrap::{ClusterPlace, NotCreated},
    message::Message,
};

/// How long after an order an execution environment orders no other sweep of the same cluster, also if another tool keeps removing
/// the node.
const BETWEEN_ORDERS: Duration = Duration::from_mins(1);

impl TaskEvents {
    /// Creates the missing nodes of clusters, and has these clusters swept. Returns those that could not be created.
    pub(super) async fn create_nodes(&self, nodes: &BTreeSet<ClusterPlace>, deadline: Deadline) -> NotCreated {
        let (created, not_created) = self.bootstrap.create_nodes(nodes, deadline.half_way()).await;
        // At once: no later event would find these nodes missing.
        self.order_sweep(&created, deadline).await;
        not_created
    }

    /// Has clusters swept whose nodes Consul does not have, and forgets when they were last seen.
    pub(super) async fn sweep_for_lost(&self, nodes: &BTreeSet<ClusterPlace>, deadline: Deadline) {
        for node in nodes {
            self.bootstrap.forget_node(node);
        }
        self.order_sweep(nodes, deadline).await;
    }

    /// Orders one sweep of the clusters of these nodes.
    async fn order_sweep(&self, nodes: impl IntoIterator<Item = &ClusterPlace>, deadline: Deadline) {
        let (scope, now) = (&self.context.scope, self.context.now());
        if !self.bootstrap.creates_nodes() || scope.repair != RepairMode::On || !scope.mode.acts() {
            return;
        }
        let mut clusters: BTreeSet<ClusterArn> = nodes.into_iter().map(|(cluster, _)| cluster.clone()).collect();
        clusters.retain(|cluster| self.ordered.get(cluster).is_none_or(|at| elapsed(at, now) >= BETWEEN_ORDERS));
        if clusters.is_empty() {
            return;
        }
        let order = Message::lost_nodes(&clusters);
        let sent = deadline.run(self.context.queue.send_later(&[order], Duration::ZERO)).await;
        for cluster in clusters {
            match &sent {
                Ok(()) => {
                    info!(action = "order_sweep", outcome = "done", cluster_arn = %cluster,
                        "Consul did not have the cluster's node");
                    self.ordered.insert(cluster, now);
                }
                Err(error) => {
                    warn!(action = "order_sweep", outcome = "failed", cluster_arn = %cluster, reason = %error,
                        "Consul did not have the cluster's node: the next scheduled sweep registers its tasks again");
                }
            }
        }
    }
}
