//! The containers of the client generation (consul-ecs up to 0.6, here with tokens in Secrets Manager).

use serde_json::{Value, json};

use super::{BINARY_VOLUME, DATA_VOLUME, Plan, after_mesh_init, mount, secret};
use crate::subject::names;
use mesh::consul_ecs::CONFIG_VARIABLE;

/// The port of the proxy's public listener. Source: the default of `proxy.publicListenerPort`.
const PUBLIC_LISTENER_PORT: &str = "20000";

impl Plan<'_> {
    pub(super) fn client_containers(&self) -> Vec<Value> {
        let images = &self.options.images;
        let environment = json!([{ "name": CONFIG_VARIABLE, "value": self.configuration().to_string() }]);
        let tokens = self.options.token_secrets.as_ref().filter(|_| self.options.acls);
        let service_token: Vec<Value> =
            tokens.map(|tokens| secret("CONSUL_HTTP_TOKEN", &tokens.service)).into_iter().collect();
        let agent_token = tokens.map(|tokens| secret("AGENT_TOKEN", &tokens.client));
        let authority = self.options.ca_secret.as_ref().map(|ca| secret("CONSUL_CACERT", ca));
        let mesh_init = self.mesh_init(&environment, &service_token);
        let client = json!({
            "name": names::CLIENT,
            "image": images.consul,
            "essential": false,
            "entryPoint": ["/bin/sh", "-ec"],
            "command": [self.agent_script()],
            "secrets": authority.into_iter().chain(agent_token).collect::<Vec<Value>>(),
            "mountPoints": [mount(DATA_VOLUME, "/consul", false), mount(BINARY_VOLUME, "/bin/consul-inject", false)],
            "linuxParameters": { "initProcessEnabled": true },
        });
        let proxy = self.proxy(json!({
            "name": names::SIDECAR_PROXY,
            "image": images.envoy,
            "essential": false,
            "entryPoint": ["/consul/consul-ecs", "envoy-entrypoint"],
            "command": ["envoy", "--config-path", "/consul/envoy-bootstrap.json"],
            "dependsOn": after_mesh_init(),
            "healthCheck": {
                "command": ["nc", "-z", "127.0.0.1", PUBLIC_LISTENER_PORT],
                "interval": 30,
                "timeout": 5,
                "retries": 3,
            },
        }));
        let mut containers = vec![mesh_init, client, proxy];
        if !self.checked.is_empty() {
            containers.push(self.health_sync(&environment, &[]));
        }
        containers
    }

    /// The script that starts the task's agent: it joins the servers, advertises the task's address, and leaves the
    /// cluster when the task stops.
    fn agent_script(&self) -> String {
        let mut lines = vec![
            "cp /bin/consul /bin/consul-inject/consul".to_owned(),
            "ECS_IPV4=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')".to_owned(),
        ];
        if self.options.ca_secret.is_some() {
            lines.push("echo \"$CONSUL_CACERT\" > /consul/consul-ca-cert.pem".to_owned());
        }
        lines.push("cat << EOF > /consul/agent-defaults.hcl".to_owned());
        lines.extend(self.agent_configuration());
        lines.push("EOF".to_owned());
        lines.push("exec consul agent -data-dir /consul/data -config-file /consul/agent-defaults.hcl".to_owned());
        lines.join("\n")
    }

    fn agent_configuration(&self) -> Vec<String> {
        let mut lines = vec![
            "advertise_addr = \"$ECS_IPV4\"".to_owned(),
            "client_addr = \"127.0.0.1\"".to_owned(),
            format!("datacenter = {}", json!(self.options.datacenter)),
            "leave_on_terminate = true".to_owned(),
            format!("retry_join = [{}]", json!(self.options.consul_hosts)),
            "ports { grpc = 8502 }".to_owned(),
        ];
        if self.options.ca_secret.is_some() {
            lines.push("ca_file = \"/consul/consul-ca-cert.pem\"".to_owned());
            lines.push("verify_outgoing = true".to_owned());
            lines.push("auto_encrypt { tls = true }".to_owned());
        }
        if self.options.acls {
            lines.push("acl {\n  enabled = true\n  tokens { agent = \"$AGENT_TOKEN\" }\n}".to_owned());
        }
        lines
    }
}
