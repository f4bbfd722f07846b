//! The check for servers that no longer exist.

use std::collections::BTreeSet;

use mesh::hcp;
use observe::{DeployedStack, InspectedCluster};

use super::Check;

const SERVERS: &str = "consul-servers";

/// What names a server of HCP Consul Dedicated: revisions of the mesh, and the stack. `None` if nothing does.
pub(super) fn check_servers(clusters: &[InspectedCluster], stack: Option<&DeployedStack>) -> Option<Check> {
    let revisions = clusters.iter().flat_map(InspectedCluster::configured_revisions);
    let of_revisions = revisions.filter_map(|(_, definition, config)| {
        let host = config.server_hosts().filter(|host| hcp::names_server(host))?;
        Some(format!("{} ({host})", definition.arn.short_name()))
    });
    let of_stack = stack.and_then(|stack| {
        let addresses = stack.parameters.get("ConsulHttpAddr")?;
        let ended = addresses.split(',').map(str::trim).find(|address| hcp::names_server(address))?;
        Some(format!("ConsulHttpAddr of stack {} ({ended})", stack.name))
    });
    let named: BTreeSet<String> = of_revisions.chain(of_stack).collect();
    (!named.is_empty()).then(|| {
        let (ended, migration) = (hcp::ENDED, hcp::MIGRATION);
        let named: Vec<String> = named.into_iter().collect();
        let seen = format!(
            "{} name servers of {ended}, so nothing answers there. Run servers of your own, and name them: {migration}",
            named.join(", ")
        );
        Check::failed(SERVERS, seen)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        doctor::CheckOutcome::Failed,
        examples::{self, assert_check, configure, stack},
    };

    const HOST: &str = "shop.private.consul.0f0f0f0f-1111-4222-8333-444455556666.aws.hashicorp.cloud";

    /// A cluster whose tasks find their servers so.
    fn cluster(hosts: &str) -> InspectedCluster {
        let mut cluster = examples::healthy();
        for member in &mut cluster.tasks {
            let config = format!(
                r#"{{"service":{{"name":"web","port":80}},"proxy":{{}},"consulServers":{{"hosts":"{hosts}"}}}}"#
            );
            configure(member, &config);
        }
        cluster
    }

    #[test]
    fn servers_that_no_longer_exist_are_named() {
        let found = check_servers(&[cluster(HOST)], None).unwrap();
        assert_check(
            &found,
            Failed,
            &format!("web:3 ({HOST}) name servers of HCP Consul Dedicated, which ended on"),
            &[],
        );
        let address = format!("https://{HOST}:443");
        let installed = stack("mesh", &[("ConsulHttpAddr", &address)]);
        let found = check_servers(&[], Some(&installed)).unwrap();
        assert_check(&found, Failed, &format!("ConsulHttpAddr of stack mesh ({address})"), &[]);
    }

    #[test]
    fn other_servers_are_not_mentioned() {
        let installed = stack("mesh", &[("ConsulHttpAddr", "https://consul.example.com:8501")]);
        for hosts in ["consul.shop.internal", "exec=discover -q addrs provider=aws", "hashicorp.cloud.example.com"] {
            assert_eq!(check_servers(&[cluster(hosts)], Some(&installed)), None, "{hosts}");
        }
    }
}
