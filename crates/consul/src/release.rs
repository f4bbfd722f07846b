//! What a server says of itself: <https://developer.hashicorp.com/consul/api-docs/agent#read-configuration>

use async_trait::async_trait;
use serde::Deserialize;

use crate::{client::HttpConsul, error::ConsulError, request::Request};

/// Reads the release of Consul.
#[async_trait]
pub trait Release: Send + Sync {
    /// The version of the server that answers, for example `1.21.4`. It takes `agent:read`.
    async fn version(&self) -> Result<String, ConsulError>;
}

/// A datacenter, as one of its servers describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datacenter {
    /// Its name.
    pub name: String,
    /// Whether this is the primary datacenter, or none is configured.
    pub is_primary: bool,
    /// Whether `acl.default_policy` is `allow`: then every task may register any service.
    pub allows_by_default: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct AgentSelf {
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
}

#[derive(Deserialize)]
struct ResolverSettings {
    #[serde(rename = "ACLDefaultPolicy")]
    default_policy: Option<String>,
}

impl From<AgentSelf> for Datacenter {
    fn from(AgentSelf { config, debug_config: debug }: AgentSelf) -> Self {
        let primary = [config.primary_datacenter, debug.primary_datacenter].into_iter().find(|name| !name.is_empty());
        let policy = debug.default_policy.or(debug.resolver.and_then(|settings| settings.default_policy));
        Self {
            is_primary: primary.is_none_or(|primary| primary == config.datacenter),
            name: config.datacenter,
            allows_by_default: policy.as_deref() == Some("allow"),
        }
    }
}

#[async_trait]
impl Release for HttpConsul {
    async fn version(&self) -> Result<String, ConsulError> {
        let agent: AgentSelf = self.http.json(&Request::agent_self()).await?;
        Ok(agent.config.version)
    }
}
