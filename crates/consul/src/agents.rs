//! Agents in the gossip pool: <https://developer.hashicorp.com/consul/api-docs/agent>.

use async_trait::async_trait;
use serde::Deserialize;

use crate::{client::HttpConsul, error::ConsulError, request::Request};
use mesh::{
    catalog::{AgentStatus, Member},
    tenancy::Tenancy,
};

/// The agents in the gossip pool.
#[async_trait]
pub trait Agents: Send + Sync {
    /// The agents of the tenancy's partition.
    async fn members(&self, tenancy: &Tenancy) -> Result<Vec<Member>, ConsulError>;

    /// Force-leaves a failed agent with `prune`, which also deregisters its node.
    async fn force_leave(&self, node: &str, tenancy: &Tenancy) -> Result<(), ConsulError>;
}

#[async_trait]
impl Agents for HttpConsul {
    async fn members(&self, tenancy: &Tenancy) -> Result<Vec<Member>, ConsulError> {
        let request = Request::list("the members of the datacenter", &["agent", "members"]);
        let request = request.in_partition_of(tenancy);
        let answers: Vec<MemberAnswer> = self.http.json(&request).await?;
        Ok(answers.into_iter().map(|answer| Member { name: answer.name, status: status(answer.status) }).collect())
    }

    async fn force_leave(&self, node: &str, tenancy: &Tenancy) -> Result<(), ConsulError> {
        // Consul checks only the presence of the parameter.
        let request = Request::put_nothing(format!("agent {node}"), &["agent", "force-leave", node]).query("prune", "");
        let request = request.in_partition_of(tenancy);
        match self.http.send(&request).await {
            Err(ConsulError::Refused { reason, .. }) if reason.contains("No node found") => Ok(()),
            answer => answer.map(drop),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MemberAnswer {
    name: String,
    /// The status in Serf: 1 alive, 2 leaving, 3 left, 4 failed.
    status: u8,
}

fn status(number: u8) -> AgentStatus {
    match number {
        4 => AgentStatus::Failed,
        2 | 3 => AgentStatus::Left,
        // Unknown statuses of newer versions are treated as alive.
        _ => AgentStatus::Alive,
    }
}
