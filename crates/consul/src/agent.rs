//! Agents: the members of the gossip pool, and what a server says of itself:
//! <https://developer.hashicorp.com/consul/api-docs/agent>.

use async_trait::async_trait;
use mesh::{
    catalog::{AgentStatus, Member},
    tenancy::Tenancy,
};
use serde::Deserialize;

use crate::{error::ConsulError, http::HttpConsul, request::Request};

/// Reads the agents in the gossip pool.
#[async_trait]
pub trait AgentReads: Send + Sync {
    /// The agents of the tenancy's partition.
    async fn members(&self, tenancy: &Tenancy) -> Result<Vec<Member>, ConsulError>;
}

/// Removes agents from the gossip pool.
#[async_trait]
pub trait AgentWrites: Send + Sync {
    /// Force-leaves a failed agent with `prune`, which also deregisters its node.
    async fn force_leave(&self, node: &str, tenancy: &Tenancy) -> Result<(), ConsulError>;
}

#[async_trait]
impl AgentReads for HttpConsul {
    async fn members(&self, tenancy: &Tenancy) -> Result<Vec<Member>, ConsulError> {
        let request = Request::list("the members of the datacenter", &["agent", "members"]);
        let request = request.in_partition_of(tenancy);
        let answers: Vec<MemberAnswer> = self.json(&request).await?;
        Ok(answers.into_iter().map(|answer| Member { name: answer.name, status: status(answer.status) }).collect())
    }
}

#[async_trait]
impl AgentWrites for HttpConsul {
    async fn force_leave(&self, node: &str, tenancy: &Tenancy) -> Result<(), ConsulError> {
        // Consul checks only the presence of the parameter.
        let request = Request::put_nothing(format!("agent {node}"), &["agent", "force-leave", node]).query("prune", "");
        let request = request.in_partition_of(tenancy);
        match self.send(&request).await {
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

/// Reads the release of Consul.
#[async_trait]
pub trait ServerVersion: Send + Sync {
    /// The version of the server that answers, for example `1.21.4`. It takes `agent:read`.
    async fn version(&self) -> Result<String, ConsulError>;
}

/// A datacenter, as one of its servers describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datacenter {
    pub name: String,
    /// Whether this is the primary datacenter, or none is configured.
    pub is_primary: bool,
    /// Whether `acl.default_policy` is `allow`: then every task may register any service.
    pub allows_by_default: bool,
    /// Whether a call that no intention is about is allowed: `default_intention_policy`, or else the default policy.
    pub allows_calls_by_default: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AgentSelf {
    config: AgentConfig,
    #[serde(default)]
    debug_config: AgentConfig,
}

/// Newer servers return the primary datacenter in `Config`, older ones in `DebugConfig`. The default policy is
/// `DebugConfig.ACLDefaultPolicy` up to 1.8, and in its `ACLResolverSettings` since.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct AgentConfig {
    version: String,
    datacenter: String,
    primary_datacenter: String,
    #[serde(rename = "ACLDefaultPolicy")]
    default_policy: Option<String>,
    #[serde(rename = "ACLResolverSettings")]
    resolver: Option<ResolverSettings>,
    /// Empty if it is not configured, and absent before 1.17.
    default_intention_policy: String,
}

#[derive(Deserialize)]
struct ResolverSettings {
    #[serde(rename = "ACLDefaultPolicy")]
    default_policy: Option<String>,
}

impl HttpConsul {
    /// The datacenter of the server that answers.
    pub(crate) async fn own_datacenter(&self) -> Result<Datacenter, ConsulError> {
        Ok(self.datacenter_with_version().await?.0)
    }

    /// The datacenter of the server that answers, and the server's version, for example `1.21.4+ent`. It takes `agent:read`.
    pub async fn datacenter_with_version(&self) -> Result<(Datacenter, String), ConsulError> {
        let AgentSelf { config, debug_config: debug } = self.json(&Request::agent_self()).await?;
        let primary = [config.primary_datacenter, debug.primary_datacenter].into_iter().find(|name| !name.is_empty());
        let policy = debug.default_policy.or(debug.resolver.and_then(|settings| settings.default_policy));
        let allows_by_default = policy.as_deref() == Some("allow");
        let datacenter = Datacenter {
            allows_calls_by_default: match debug.default_intention_policy.as_str() {
                "" => allows_by_default,
                policy => policy == "allow",
            },
            is_primary: primary.is_none_or(|primary| primary == config.datacenter),
            name: config.datacenter,
            allows_by_default,
        };
        Ok((datacenter, config.version))
    }
}

#[async_trait]
impl ServerVersion for HttpConsul {
    async fn version(&self) -> Result<String, ConsulError> {
        Ok(self.datacenter_with_version().await?.1)
    }
}
