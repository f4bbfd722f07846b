//! Reads the entries of whole clusters in Consul: tokens, nodes, failed agents, and the checks of stopping tasks.

use std::sync::Arc;

use mesh::{
    arn::ClusterArn,
    catalog::{AgentStatus, CatalogNode, ClientAgent, LeftoverNode, ServiceInstance},
    mark,
    repair::NodeReading,
    tenancy::Tenancy,
    token::ListedToken,
};

use super::{
    findings::{Problem, Skipped, Survey},
    order::SweepOrder,
};
use crate::{
    agents::client_agents, deadline::Deadline, edges::Consul, error::ControllerError, outcome::concurrently_in_order,
    scope::Scope, survey::gone_tasks::names_cluster,
};

/// Reads the entries of whole clusters in Consul.
pub(super) struct ConsulReader {
    pub(super) scope: Arc<Scope>,
    pub(super) consul: Arc<dyn Consul>,
}

impl ConsulReader {
    /// Reads the tokens and failed agents of one partition, and the nodes of `clusters` in it.
    pub(super) async fn read_partition(
        &self,
        tenancy: &Tenancy,
        order: &SweepOrder,
        clusters: &[ClusterArn],
        deadline: Deadline,
        survey: &mut Survey,
    ) {
        let is_wanted = |token: &ListedToken| self.is_of(order, token);
        let (tokens, agents, synthetic_nodes, nodes) = futures::join!(
            deadline.run(self.consul.tokens(tenancy, &is_wanted)),
            deadline.run(self.failed_agents(tenancy, order)),
            deadline.run(self.synthetic_nodes(tenancy)),
            self.nodes(tenancy, clusters, deadline),
        );
        match tokens {
            Ok(Some(tokens)) => survey.observed.tokens.extend(tokens),
            Ok(None) => survey.are_acls_off = true,
            Err(error) => survey.mark_unread(clusters, None, error),
        }
        match agents {
            Ok(agents) => survey.observed.agents.extend(agents),
            Err(error) => survey.mark_unread(clusters, None, error),
        }
        match synthetic_nodes {
            Ok(nodes) => survey.synthetic_nodes.extend(nodes),
            Err(error) => survey.mark_unread(clusters, None, error),
        }
        add_nodes(nodes, tenancy, survey);
    }

    /// Reads the nodes of `clusters` in one partition.
    pub(super) async fn read_nodes(
        &self,
        tenancy: &Tenancy,
        clusters: &[ClusterArn],
        deadline: Deadline,
        survey: &mut Survey,
    ) {
        add_nodes(self.nodes(tenancy, clusters, deadline).await, tenancy, survey);
    }

    async fn nodes(&self, tenancy: &Tenancy, clusters: &[ClusterArn], deadline: Deadline) -> Nodes {
        let reads = clusters.iter().map(|cluster| async move {
            (cluster.clone(), deadline.run(self.consul.node(cluster.as_str(), tenancy)).await)
        });
        concurrently_in_order(reads).await
    }

    /// The clusters with a synthetic node, if a pattern selects clusters.
    async fn synthetic_nodes(&self, tenancy: &Tenancy) -> Result<Vec<ClusterArn>, ControllerError> {
        if !self.scope.clusters.has_wildcard() {
            return Ok(Vec::new());
        }
        let names = self.consul.synthetic_nodes(tenancy).await?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// Failed agents with services of the clusters' tasks on their nodes.
    async fn failed_agents(&self, tenancy: &Tenancy, order: &SweepOrder) -> Result<Vec<ClientAgent>, ControllerError> {
        let members = self.consul.members(tenancy).await?;
        let failed = members.into_iter().filter(|member| member.status == AgentStatus::Failed).collect();
        let agents = client_agents(self.consul.as_ref(), failed, tenancy).await?;
        let is_of = |instance: &ServiceInstance| {
            let cluster = instance.task_arn.as_ref().and_then(|arn| self.scope.clusters.cluster_of(arn));
            cluster.is_some_and(|cluster| order.includes(&cluster) && names_cluster(instance, &cluster))
        };
        Ok(agents.into_iter().filter(|agent| agent.node.instances.iter().any(is_of)).collect())
    }

    /// Whether a token's marks name a cluster of the sweep. Other tokens are ignored.
    fn is_of(&self, order: &SweepOrder, token: &ListedToken) -> bool {
        mark::cluster_of(token).is_some_and(|cluster| order.names(&cluster, &self.scope.clusters))
    }

    /// The checks on the nodes that exist: those of stopping tasks, which have to be drained, and those of running tasks,
    /// which have to say what ECS says. A node whose checks cannot be read counts as not read.
    pub(super) async fn read_checks(&self, deadline: Deadline, survey: &mut Survey) {
        let (existing, mut nodes): (Vec<_>, Vec<_>) = survey.nodes.drain(..).partition(|node| node.exists);
        let reads = existing.into_iter().map(|node| async move {
            let read = deadline.run(self.consul.node_checks(node.cluster.as_str(), &node.tenancy)).await;
            (node, read)
        });
        for (node, checks) in concurrently_in_order(reads).await {
            match checks {
                Ok(checks) => {
                    survey.observed.checks.extend(checks);
                    nodes.push(node);
                }
                Err(error) => survey.problems.push(Problem::new(Some(&node.cluster), error)),
            }
        }
        survey.nodes = nodes;
    }
}

/// The nodes of clusters, or why one could not be read.
type Nodes = Vec<(ClusterArn, Result<Option<CatalogNode>, ControllerError>)>;

fn add_nodes(nodes: Nodes, tenancy: &Tenancy, survey: &mut Survey) {
    for (cluster, node) in nodes {
        match node {
            Ok(Some(node)) => {
                survey.nodes.push(NodeReading {
                    cluster: cluster.clone(),
                    tenancy: tenancy.clone(),
                    exists: true,
                    others: node.others.clone(),
                });
                survey.observed.instances.extend(node.instances.iter().cloned());
                let foreign = node.others.iter().map(|service| Skipped {
                    cluster: cluster.clone(),
                    what: format!("service {}", service.id),
                    why: "its metadata has no task ID".to_owned(),
                });
                survey.skipped.extend(foreign);
                if survey.is_deleted(&cluster) {
                    let tenancy = tenancy.clone();
                    survey.observed.leftover_nodes.push(LeftoverNode { cluster, node, tenancy });
                }
            }
            Ok(None) => survey.nodes.push(NodeReading::missing(cluster, tenancy.clone())),
            Err(error) => survey.mark_unread(std::slice::from_ref(&cluster), Some(&cluster), error),
        }
    }
}
