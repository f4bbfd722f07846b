//! The ports and the configuration file of a Consul server.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{MANAGEMENT_TOKEN, ServerCertificate, program};
use crate::ports;

/// The name of the file.
pub(super) const FILE: &str = "consul.json";

/// The major and minor version of Consul.
pub fn version() -> (u32, u32) {
    let output = Command::new(program()).arg("version").output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let version = output.split_whitespace().nth(1).unwrap().trim_start_matches('v').to_owned();
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap(), parts.next().unwrap())
}

/// A server's ports.
#[derive(Clone, Copy)]
pub(super) struct Ports {
    pub(super) http: u16,
    pub(super) serf: u16,
    pub(super) rpc: u16,
}

impl Ports {
    /// Three free ports.
    pub(super) fn free() -> Self {
        Self { http: ports::reserve(), serf: ports::reserve(), rpc: ports::reserve() }
    }
}

/// Writes a server's configuration. `cluster` are the serf ports of all servers; empty for a single server.
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
        // A single server elects itself quickly. Several must not mistake a busy machine for a dead leader.
        "performance": { "raft_multiplier": if cluster.is_empty() { 1 } else { 3 } },
        "disable_update_check": true,
    });
    let management = if version() >= (1, 11) { "initial_management" } else { "master" };
    configuration["acl"]["tokens"] = json!({ management: MANAGEMENT_TOKEN });
    // Open by default since 1.14; older servers reject the setting.
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
    std::fs::write(directory.join(FILE), configuration.to_string()).unwrap();
}

/// Adds to a server's configuration a port for xDS streams, and the default policy to allow.
pub(super) fn serve_proxies(directory: &Path, grpc: u16) {
    let path = directory.join(FILE);
    let mut configuration: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    configuration["ports"]["grpc"] = json!(grpc);
    configuration["acl"]["default_policy"] = json!("allow");
    std::fs::write(path, configuration.to_string()).unwrap();
}
