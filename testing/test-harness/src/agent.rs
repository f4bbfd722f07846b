//! A real Consul client agent on 127.0.0.2, like those in tasks of the client generation.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use local_stack::consul::{Consul, program};
use local_stack::http::{self, Answer};
use local_stack::ports;
use local_stack::process::Process;
use local_stack::scratch;
use local_stack::wait::eventually;

/// A running agent.
pub struct ClientAgent {
    /// Its node's name.
    pub name: String,
    address: String,
    token: String,
    process: Process,
}

impl ClientAgent {
    /// Starts an agent, and waits until it is alive in the server's member list.
    pub async fn join(consul: &Consul, name: &str) -> Self {
        let directory = scratch::directory().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        let port = ports::reserve();
        let configuration = json!({
            "node_name": name,
            "data_dir": directory.join("data"),
            "bind_addr": "127.0.0.2",
            "client_addr": "127.0.0.2",
            "ports": {
                "http": port, "https": -1, "dns": -1, "grpc": -1, "serf_lan": ports::reserve(), "server": ports::reserve(),
            },
            "acl": {
                "enabled": true,
                "default_policy": "deny",
                "tokens": { "agent": consul.management_token, "default": consul.management_token },
            },
            "retry_join": [format!("127.0.0.1:{}", consul.serf_port)],
            "leave_on_terminate": true,
            "disable_update_check": true,
        });
        let file = directory.join("consul.json");
        std::fs::write(&file, configuration.to_string()).unwrap();
        let process = Process::start(name, &program(), &["agent", "-config-file", file.to_str().unwrap()], &[]);
        let token = consul.management_token.clone();
        let agent = Self { name: name.to_owned(), address: format!("http://127.0.0.2:{port}"), token, process };
        eventually(&format!("agent {name} to join"), Duration::from_mins(5), || async {
            let status = member_status(consul, name).await;
            if status == Some(1) { Ok(()) } else { Err(format!("status {status:?}")) }
        })
        .await;
        agent
    }

    /// Registers a service with the agent, and waits until it is in the catalog. The agent refuses the token until it can resolve
    /// it at the server.
    pub async fn register(&self, consul: &Consul, service: &Value) {
        let id = service["ID"].as_str().unwrap();
        eventually(&format!("service {id} to be accepted by its agent"), Duration::from_mins(5), || async {
            let request = http::client()
                .put(format!("{}/v1/agent/service/register", self.address))
                .header("X-Consul-Token", &self.token)
                .json(service);
            Answer::to(request).await.and_then(Answer::success)
        })
        .await;
        eventually(&format!("service {id} in the catalog"), Duration::from_mins(5), || async {
            let node = node_services(consul, &self.name).await;
            if node.contains(id) { Ok(()) } else { Err(node) }
        })
        .await;
    }

    /// `kill -9`, and waits until Consul shows the agent as failed.
    pub async fn kill_and_wait_until_failed(self, consul: &Consul) {
        self.process.kill();
        eventually(&format!("agent {} to fail", self.name), Duration::from_mins(5), || async {
            let status = member_status(consul, &self.name).await;
            if status == Some(4) { Ok(()) } else { Err(format!("status {status:?}")) }
        })
        .await;
    }
}

/// An agent's serf status; `None` if the server does not know the agent.
pub async fn member_status(consul: &Consul, name: &str) -> Option<u64> {
    let members = consul.get("/v1/agent/members").await;
    let members = members.as_array().cloned().unwrap_or_default();
    members.iter().find(|member| member["Name"] == name)?["Status"].as_u64()
}

/// A node and its services in the catalog.
pub async fn node_services(consul: &Consul, name: &str) -> String {
    let answer = consul.call(Method::GET, &format!("/v1/catalog/node/{name}"), &consul.management_token, None).await;
    answer.body.to_string()
}
