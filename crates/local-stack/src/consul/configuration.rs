//! What a Consul server is started with: its ports, and its configuration file.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{MANAGEMENT_TOKEN, ServerCertificate, program};
use crate::ports;

/// "major.minor" as a pair.
fn version() -> (u32, u32) {
    let output = Command::new(program()).arg("version").output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let version = output.split_whitespace().nth(1).unwrap().trim_start_matches('v').to_owned();
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap(), parts.next().unwrap())
}

/// Where a server listens.
#[derive(Clone, Copy)]
pub(super) struct Ports {
    pub(super) http: u16,
    pub(super) serf: u16,
    pub(super) rpc: u16,
}

impl Ports {
    /// Three that nobody else has.
    pub(super) fn free() -> Self {
        Self { http: ports::reserve(), serf: ports::reserve(), rpc: ports::reserve() }
    }
}

/// Writes what a server is started with; `cluster` are the serf ports of all of its cluster, if it is not alone.
pub(super) fn write_configuration(directory: &Path, ports: Ports, cluster: &[u16], issued: Option<&ServerCertificate>) {
    let port = ports.http;
    let mut configuration = json!({
        "server": true,
        "bootstrap_expect": cluster.len().max(1),
        "retry_join": cluster.iter().map(|serf| format!("127.0.0.1:{serf}")).collect::<Vec<_>>(),
        "retry_interval": "1s",
        "node_name": if cluster.is_empty() { "server".to_owned() } else { format!("server-{port}") },
        "data_dir": directory.join("data"),
        "bind_addr": "127.0.0.1",
        "client_addr": "127.0.0.1",
        "ports": {
            "http": port, "https": -1, "dns": -1, "grpc": -1,
            "serf_lan": ports.serf, "serf_wan": -1, "server": ports.rpc,
        },
        "acl": { "enabled": true, "default_policy": "deny" },
        "connect": { "enabled": true },
        // Alone, it need not wait for others before it elects itself. Several must not take a busy machine for a dead leader.
        "performance": { "raft_multiplier": if cluster.is_empty() { 1 } else { 3 } },
        "disable_update_check": true,
    });
    let management = if version() >= (1, 11) { "initial_management" } else { "master" };
    configuration["acl"]["tokens"] = json!({ management: MANAGEMENT_TOKEN });
    // From 1.14 on a server opens this one by default; older ones do not know the word.
    if version() >= (1, 14) {
        configuration["ports"]["grpc_tls"] = json!(-1);
    }
    if let Some(issued) = issued {
        let write = |name: &str, text: &str| {
            let path = directory.join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        configuration["ports"]["http"] = json!(-1);
        configuration["ports"]["https"] = json!(port);
        configuration["ca_file"] = json!(write("ca.pem", &issued.authority));
        configuration["cert_file"] = json!(write("server.pem", &issued.certificate));
        configuration["key_file"] = json!(write("server-key.pem", &issued.key));
    }
    std::fs::write(directory.join("consul.json"), configuration.to_string()).unwrap();
}
