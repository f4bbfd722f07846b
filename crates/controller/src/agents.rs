//! Client agents, with the services on their nodes.

use consul::Catalog;
use futures::{StreamExt, TryStreamExt, stream};
use mesh::{
    catalog::{ClientAgent, Member},
    tenancy::Tenancy,
};

use crate::{error::ControllerError, outcome::CONCURRENCY};

/// Reads the services on the agents' nodes. Agents without a node in the catalog are left out.
pub(crate) async fn client_agents(
    consul: &dyn Catalog,
    members: Vec<Member>,
    tenancy: &Tenancy,
) -> Result<Vec<ClientAgent>, ControllerError> {
    let reads = members.into_iter().map(|member| async move {
        let node = consul.node(&member.name, tenancy).await?;
        Ok::<_, ControllerError>(node.map(|node| ClientAgent { member, node, tenancy: tenancy.clone() }))
    });
    let agents: Vec<Option<ClientAgent>> = stream::iter(reads).buffer_unordered(CONCURRENCY).try_collect().await?;
    Ok(agents.into_iter().flatten().collect())
}
