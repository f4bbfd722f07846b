//! Clusters that ECS does not list: with a pattern, a deleted cluster is known only from what it has left in Consul.

use std::collections::BTreeSet;

use aws::ecs::ClusterStatus;
use mesh::{arn::ClusterArn, mark};
use tracing::warn;

use super::{
    findings::{Clusters, Problem, Survey},
    order::SweepOrder,
    surveyor::Surveyor,
};
use crate::deadline::Deadline;

impl Surveyor {
    /// The deleted clusters that tokens, synthetic nodes and failed agents name by ARN, and that ECS did not list. A cluster
    /// that exists nevertheless is left to the next sweep; until then no service counts as idle.
    pub(super) async fn find_unlisted(
        &self,
        order: &SweepOrder,
        clusters: &mut Clusters,
        deadline: Deadline,
        survey: &mut Survey,
    ) -> Vec<ClusterArn> {
        let selection = &self.tasks.scope.clusters;
        if !selection.has_wildcard() || !clusters.are_all_found {
            return Vec::new();
        }
        let mut named: BTreeSet<ClusterArn> =
            survey.observed.tokens.iter().filter_map(|token| mark::cluster_of(token)?.parse().ok()).collect();
        let instances = survey.observed.agents.iter().flat_map(|agent| &agent.node.instances);
        named.extend(instances.filter_map(|instance| selection.cluster_of(instance.task_arn.as_ref()?)));
        named.append(&mut survey.synthetic_nodes);
        named.retain(|cluster| {
            selection.contains(cluster) && order.includes(cluster) && !clusters.found.contains(cluster)
        });
        let named = Vec::from_iter(named);
        if named.is_empty() {
            return named;
        }
        let statuses = match deadline.run(self.tasks.ecs.cluster_statuses(&named)).await {
            Ok(statuses) => statuses,
            Err(error) => {
                clusters.are_all_found = false;
                survey.problems.push(Problem::new(None, error));
                return Vec::new();
            }
        };
        let mut deleted = Vec::new();
        for (cluster, status) in statuses {
            match status {
                ClusterStatus::Deleted => deleted.push(cluster),
                ClusterStatus::Unknown if order.treats_unknown_as_deleted(&cluster) => deleted.push(cluster),
                // Tasks choose what their logins name: such a cluster must not fail every sweep.
                ClusterStatus::Unknown => {
                    warn!(action = "sweep", outcome = "skipped", cluster_arn = %cluster,
                        "Consul has entries of a cluster that ECS does not know; sweep it with force if it was deleted");
                }
                ClusterStatus::Active { .. } => clusters.are_all_found = false,
            }
        }
        clusters.found.extend(deleted.iter().cloned());
        clusters.deleted.extend(deleted.iter().cloned());
        deleted
    }
}
