//! Agents in the gossip pool.

use async_trait::async_trait;
use consul::{Agents, ConsulError};
use mesh::{catalog::Member, tenancy::Tenancy};

use super::Observing;

#[async_trait]
impl Agents for Observing {
    async fn members(&self, tenancy: &Tenancy) -> Result<Vec<Member>, ConsulError> {
        self.0.consul.members(tenancy).await
    }

    async fn force_leave(&self, node: &str, _: &Tenancy) -> Result<(), ConsulError> {
        observed!("PUT /v1/agent/force-leave", node);
        Ok(())
    }
}
