//! Discovery of the Consul servers in `CONSUL_HTTP_ADDR`.

use std::sync::Arc;

use async_trait::async_trait;
use aws::ecs::{AwsEcs, EcsError};
use consul::{ConsulAddresses, EcsServers, NoServers, Server, ServerSource};

/// The source of the servers for these addresses.
pub fn servers(addresses: &ConsulAddresses, ecs: Arc<AwsEcs>) -> Arc<dyn ServerSource> {
    match addresses {
        ConsulAddresses::Urls(urls) => Arc::new(urls.clone()),
        ConsulAddresses::Ecs(servers) => Arc::new(EcsServerSource { ecs, servers: servers.clone() }),
    }
}

/// Servers in ECS tasks, whose addresses change with every replacement.
struct EcsServerSource {
    ecs: Arc<AwsEcs>,
    servers: EcsServers,
}

#[async_trait]
impl ServerSource for EcsServerSource {
    async fn servers(&self) -> Result<Vec<Server>, NoServers> {
        let (cluster, name) = (&self.servers.cluster, &self.servers.family_or_service);
        let addresses = self.ecs.addresses(cluster, name).await.map_err(|error| unknown(&error))?;
        if addresses.is_empty() {
            let reason = format!(
                "no running task of {}; start it (in network mode awsvpc), or correct CONSUL_HTTP_ADDR",
                self.servers
            );
            return Err(NoServers::NotUp(reason));
        }
        addresses.into_iter().map(|address| self.servers.at(address)).collect()
    }
}

/// The failure of a discovery by ECS, with what to do.
fn unknown(error: &EcsError) -> NoServers {
    let remedy = match error {
        EcsError::NoAddress { .. } => {
            "run the Consul servers in network mode awsvpc, or set CONSUL_HTTP_ADDR to their addresses (https://host:port)"
        }
        _ => "correct CONSUL_HTTP_ADDR, or let the role call ecs:ListTasks and ecs:DescribeTasks in that cluster",
    };
    NoServers::Unknown(format!("{error}; {remedy}"))
}
