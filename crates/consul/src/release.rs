//! The release of Consul: <https://developer.hashicorp.com/consul/api-docs/agent#read-configuration>

use async_trait::async_trait;
use serde::Deserialize;

use crate::{client::HttpConsul, error::ConsulError, request::Request};

/// Reads the release of Consul.
#[async_trait]
pub trait Release: Send + Sync {
    /// The version of the server that answers, for example `1.21.4`. It takes `agent:read`.
    async fn version(&self) -> Result<String, ConsulError>;
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AgentSelf {
    config: AgentConfig,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AgentConfig {
    version: String,
}

#[async_trait]
impl Release for HttpConsul {
    async fn version(&self) -> Result<String, ConsulError> {
        let agent: AgentSelf = self.http.json(&Request::agent_self()).await?;
        Ok(agent.config.version)
    }
}
