//! Client agents, each with what its node holds.

use consul::Catalog;
use futures::{StreamExt, TryStreamExt, stream};
use mesh::{
    catalog::{ClientAgent, Member},
    tenancy::Tenancy,
};

use crate::{error::ControllerError, outcome::CONCURRENCY};

/// Agents with what their nodes hold; those whose node is gone from the catalog are not among them.
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
