//! Reads a cluster's node, and what decides about logins.

use std::collections::BTreeSet;

use consul::{ConsulError, Logins};
use mesh::{
    arn::ClusterArn,
    catalog::CatalogNode,
    repair::NodeReading,
    tenancy::Tenancy,
    token::{Grants, ListedToken},
};

use crate::{clock::Deadline, concurrency::concurrently, edges::ConsulReads, error::CallError};

/// The synthetic node of a cluster in one partition.
pub(crate) enum ClusterNode {
    Missing,
    /// Consul finds a node by its name in any case: this is another cluster's.
    OfNamesake(String),
    /// With instances of tasks of the cluster alone: see [`CatalogNode::set_namesakes_aside`].
    Found(CatalogNode),
}

/// Reads the synthetic node of a cluster in the partition of `tenancy`.
pub(crate) async fn node_of(
    consul: &dyn ConsulReads,
    cluster: &ClusterArn,
    tenancy: &Tenancy,
) -> Result<ClusterNode, ConsulError> {
    Ok(match consul.node(cluster.as_str(), tenancy).await? {
        None => ClusterNode::Missing,
        Some(node) if node.name != cluster.as_str() => ClusterNode::OfNamesake(node.name),
        Some(mut node) => {
            node.set_namesakes_aside(cluster);
            ClusterNode::Found(node)
        }
    })
}

/// What a repair compares with, of a node that exists.
pub(crate) fn reading(cluster: &ClusterArn, tenancy: &Tenancy, node: &CatalogNode) -> NodeReading {
    let (cluster, tenancy, others) = (cluster.clone(), tenancy.clone(), node.others.clone());
    NodeReading { cluster, tenancy, exists: true, others }
}

/// A role in Consul, by tenancy and name, and what it grants; nothing, if Consul has none.
type ReadRole = ((Tenancy, String), Result<Grants, CallError>);

/// Reads the roles that these tokens link, each once.
pub async fn roles_of<'a>(
    consul: &(impl Logins + ?Sized),
    tokens: impl Iterator<Item = &'a ListedToken>,
    deadline: Deadline,
) -> Vec<ReadRole> {
    let linked: BTreeSet<(Tenancy, String)> = tokens.flat_map(ListedToken::linked_roles).collect();
    let reads = linked.into_iter().map(|(tenancy, name)| async move {
        let read = deadline.run(consul.role(&tenancy, &name)).await;
        ((tenancy, name), read.map(Option::unwrap_or_default))
    });
    concurrently(reads).await
}
