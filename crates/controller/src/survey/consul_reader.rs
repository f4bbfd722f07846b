//! Reads the entries of whole clusters in Consul: tokens, nodes, failed agents, and the checks of stopping tasks.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use mesh::{
    arn::{ClusterArn, TaskId},
    catalog::{AgentStatus, CatalogNode, ClientAgent, LeftoverNode, ServiceInstance},
    mark::HolderMark,
    phase::TaskPhase,
    tenancy::Tenancy,
    token::ListedToken,
};

use super::findings::{Clusters, Problem, Skipped, Survey};
use crate::{
    agents::client_agents, deadline::Deadline, edges::Consul, error::ControllerError, outcome::concurrently_in_order,
    survey::gone_tasks::names_cluster,
};

/// Reads the entries of whole clusters in Consul.
pub(super) struct ConsulReader {
    pub(super) consul: Arc<dyn Consul>,
}

impl ConsulReader {
    /// Reads the tokens, nodes and failed agents of one partition.
    pub(super) async fn read_partition(
        &self,
        tenancy: &Tenancy,
        wanted: &[&ClusterArn],
        clusters: &Clusters,
        deadline: Deadline,
        survey: &mut Survey,
    ) {
        let is_wanted = |token: &ListedToken| is_of_any(token, wanted);
        let (tokens, nodes, agents) = futures::join!(
            deadline.run(self.consul.tokens(tenancy, &is_wanted)),
            self.read_nodes(tenancy, wanted, deadline),
            deadline.run(self.failed_agents(tenancy, wanted)),
        );
        match tokens {
            Ok(tokens) => survey.observed.tokens.extend(tokens),
            Err(error) => survey.mark_unread(wanted, None, error),
        }
        match agents {
            Ok(agents) => survey.observed.agents.extend(agents),
            Err(error) => survey.mark_unread(wanted, None, error),
        }
        for (cluster, node) in nodes {
            match node {
                Ok(Some(node)) => {
                    survey.observed.instances.extend(node.instances.iter().cloned());
                    let foreign = node.others.iter().map(|id| Skipped {
                        cluster: cluster.clone(),
                        what: format!("service {id}"),
                        why: "its metadata has no task ID".to_owned(),
                    });
                    survey.skipped.extend(foreign);
                    if clusters.deleted.contains(&cluster) {
                        survey.observed.leftover_nodes.push(LeftoverNode { cluster, node, tenancy: tenancy.clone() });
                    }
                }
                Ok(None) => {}
                Err(error) => survey.mark_unread(&[&cluster], Some(&cluster), error),
            }
        }
    }

    async fn read_nodes(
        &self,
        tenancy: &Tenancy,
        wanted: &[&ClusterArn],
        deadline: Deadline,
    ) -> Vec<(ClusterArn, Result<Option<CatalogNode>, ControllerError>)> {
        let reads = wanted.iter().map(|cluster| async move {
            ((*cluster).clone(), deadline.run(self.consul.node(cluster.as_str(), tenancy)).await)
        });
        concurrently_in_order(reads).await
    }

    /// Failed agents with services of the clusters' tasks on their nodes.
    async fn failed_agents(
        &self,
        tenancy: &Tenancy,
        clusters: &[&ClusterArn],
    ) -> Result<Vec<ClientAgent>, ControllerError> {
        let members = self.consul.members(tenancy).await?;
        let failed = members.into_iter().filter(|member| member.status == AgentStatus::Failed).collect();
        let agents = client_agents(self.consul.as_ref(), failed, tenancy).await?;
        let is_of = |instance: &ServiceInstance| clusters.iter().any(|cluster| names_cluster(instance, cluster));
        Ok(agents.into_iter().filter(|agent| agent.node.instances.iter().any(is_of)).collect())
    }

    /// The checks of stopping tasks, which have to be drained.
    pub(super) async fn read_checks(&self, deadline: Deadline, survey: &mut Survey) {
        let stopping: BTreeSet<(&str, &TaskId)> = survey
            .observed
            .tasks
            .iter()
            .filter(|task| task.phase == TaskPhase::Stopping)
            .map(|task| (task.cluster.as_str(), task.arn.id()))
            .collect();
        let mut draining: BTreeMap<(String, Tenancy), Vec<ServiceInstance>> = BTreeMap::new();
        for instance in &survey.observed.instances {
            if stopping.contains(&(instance.node.as_str(), &instance.task)) {
                let node = (instance.node.clone(), instance.tenancy.clone());
                draining.entry(node).or_default().push(instance.clone());
            }
        }
        let reads =
            draining.into_values().map(|instances| async move { deadline.run(self.consul.checks(&instances)).await });
        let read: Vec<_> = concurrently_in_order(reads).await;
        for checks in read {
            match checks {
                Ok(checks) => survey.observed.checks.extend(checks),
                Err(error) => survey.problems.push(Problem::new(None, error)),
            }
        }
    }
}

/// Whether a token's marks name one of the clusters. Other tokens are ignored.
fn is_of_any(token: &ListedToken, clusters: &[&ClusterArn]) -> bool {
    let is_named = |name: &str| clusters.iter().any(|cluster| cluster.is_named_by(name));
    match &token.login {
        Some(login) => is_named(&login.cluster),
        None => HolderMark::parse(&token.description).is_some_and(|mark| is_named(&mark.cluster)),
    }
}
