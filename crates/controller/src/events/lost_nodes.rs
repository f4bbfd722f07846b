//! Consul has lost the node of a cluster, and with it the registrations of all its tasks. `mesh-init` registers a task once, so only a
//! sweep registers them again, and the next one may be minutes away. Until then, the proxies of new tasks may get no configuration:
//! Consul admits [about as many streams as proxies are registered](https://developer.hashicorp.com/consul/docs/manage/scale/xds-load-balancing),
//! and those that it has lost keep theirs.
//!
//! So the first event that finds it orders a sweep of the cluster, by a message to the functions' own queue.

use std::{collections::BTreeSet, time::Duration};

use mesh::{settings::RepairMode, time::elapsed};
use observe::Deadline;
use tracing::{info, warn};

use super::TaskEvents;
use crate::{bootstrap::ClusterPlace, message::Message};

/// How long after an order an execution environment orders no other sweep of the same cluster, also if another tool keeps removing
/// the node.
const BETWEEN_ORDERS: Duration = Duration::from_mins(1);

impl TaskEvents {
    /// Orders a sweep of each cluster whose node Consul did not have: those that are still `lost`, and those `created` again.
    pub(super) async fn order_sweeps(
        &self,
        lost: BTreeSet<ClusterPlace>,
        created: Vec<ClusterPlace>,
        deadline: Deadline,
    ) {
        for node in &lost {
            self.bootstrap.forget_node(node);
        }
        let (scope, now) = (&self.context.scope, self.context.now());
        if !self.bootstrap.creates_nodes() || scope.repair != RepairMode::On || !scope.mode.acts() {
            return;
        }
        let mut clusters: BTreeSet<_> = lost.into_iter().chain(created).map(|(cluster, _)| cluster).collect();
        clusters.retain(|cluster| self.ordered.get(cluster).is_none_or(|at| elapsed(at, now) >= BETWEEN_ORDERS));
        if clusters.is_empty() {
            return;
        }
        let orders: Vec<String> = clusters.iter().map(Message::lost_node).collect();
        let sent = deadline.run(self.context.queue.send_later(&orders, Duration::ZERO)).await;
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
