//! The containers of both generations of Consul's mesh.

use serde_json::{Value, json};

use super::{BINARY_VOLUME, DATA_VOLUME, Plan};
use crate::subject::names;
use mesh::consul_ecs::CONFIG_VARIABLE;

/// The kernel's maximum: see the rule `consul-proxy-open-files`.
const OPEN_FILES: u64 = 1_048_576;
/// The port of the proxy's readiness check. Source: the default of `proxy.healthCheckPort`.
const READINESS_PORT: u16 = 22_000;
/// The port of the proxy's public listener. Source: the default of `proxy.publicListenerPort`.
const PUBLIC_LISTENER_PORT: &str = "20000";

/// The dataplane generation: consul-ecs 0.8 and newer.
impl Plan<'_> {
    pub(super) fn dataplane_containers(&self) -> Vec<Value> {
        let images = &self.options.images;
        let environment = json!([{ "name": CONFIG_VARIABLE, "value": self.dataplane_configuration().to_string() }]);
        let authority = self.options.ca_secret.as_ref().map_or_else(Vec::new, |ca| {
            ["CONSUL_HTTPS_CACERT_PEM", "CONSUL_GRPC_CACERT_PEM"].map(|name| secret(name, ca)).to_vec()
        });
        let mesh_init = self.mesh_init(&environment, &authority);
        let dataplane = self.proxy(json!({
            "name": names::DATAPLANE,
            "image": images.dataplane,
            "essential": false,
            "user": "5995",
            "entryPoint": ["/consul/consul-ecs", "envoy-entrypoint"],
            "command": ["consul-dataplane", "-config-file", "/consul/consul-dataplane.json"],
            "dependsOn": after_mesh_init(),
            "healthCheck": {
                "command": ["/consul/consul-ecs", "net-dial", format!("127.0.0.1:{READINESS_PORT}")],
                "interval": 5,
                "timeout": 5,
                "retries": 10,
            },
        }));
        let own = json!({
            "user": "5996",
            // ECS restarts health-sync, which logs in anew and writes all checks again. Exit code 0 means that it has
            // deregistered the service. The other containers must not be restarted: see the rule `consul-restart-policy`.
            // 60 seconds is the least that ECS takes.
            "restartPolicy": { "enabled": true, "ignoredExitCodes": [0], "restartAttemptPeriod": 60 },
            // health-sync writes no file. The proxy writes Envoy's configuration to its temporary directory. Sources:
            // https://github.com/hashicorp/consul-ecs/blob/main/subcommand/health-sync/command.go and
            // https://github.com/hashicorp/consul-dataplane/pull/253
            "readonlyRootFilesystem": true,
        });
        vec![mesh_init, dataplane, with(self.health_sync(&environment, &authority), own)]
    }

    fn dataplane_configuration(&self) -> Value {
        let tls = self.options.ca_secret.is_some();
        let http_port = if tls { 8501 } else { 8500 };
        let grpc_port = if tls { 8503 } else { 8502 };
        let servers = json!({
            "hosts": self.options.consul_hosts,
            "defaults": { "tls": tls },
            "http": { "https": tls, "port": http_port },
            "grpc": { "port": grpc_port },
        });
        let own = json!({
            "consulLogin": { "enabled": self.options.acls },
            "consulServers": servers,
            "transparentProxy": { "enabled": false },
        });
        with(self.configuration(), own)
    }
}

/// The client generation: consul-ecs up to 0.6, here with tokens in Secrets Manager.
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

impl Plan<'_> {
    /// The part of `CONSUL_ECS_CONFIG_JSON` that both generations have.
    fn configuration(&self) -> Value {
        let upstreams: Vec<Value> = self
            .options
            .upstreams
            .iter()
            .map(|upstream| json!({ "destinationName": upstream.name, "localBindPort": upstream.port }))
            .collect();
        let configuration = json!({
            "bootstrapDir": "/consul",
            "service": { "name": self.service.as_str(), "port": self.port },
            "proxy": { "upstreams": upstreams },
        });
        if self.checked.is_empty() {
            return configuration;
        }
        with(configuration, json!({ "healthSyncContainers": self.checked }))
    }

    /// The container that registers the service and then stops.
    fn mesh_init(&self, environment: &Value, secrets: &[Value]) -> Value {
        json!({
            "name": names::MESH_INIT,
            "image": self.options.images.consul_ecs,
            "essential": false,
            "command": ["mesh-init"],
            "environment": environment,
            "secrets": secrets,
            "mountPoints": [mount(DATA_VOLUME, "/consul", false), mount(BINARY_VOLUME, "/bin/consul-inject", true)],
            "linuxParameters": { "initProcessEnabled": true },
        })
    }

    /// The container that copies health from ECS to Consul.
    fn health_sync(&self, environment: &Value, secrets: &[Value]) -> Value {
        json!({
            "name": names::HEALTH_SYNC,
            "image": self.options.images.consul_ecs,
            "essential": false,
            "command": ["health-sync"],
            "environment": environment,
            "secrets": secrets,
            "mountPoints": [mount(DATA_VOLUME, "/consul", true)],
            "dependsOn": after_mesh_init(),
            "linuxParameters": { "initProcessEnabled": true },
        })
    }

    /// Adds the properties that all proxy containers have.
    fn proxy(&self, container: Value) -> Value {
        let container = with(
            container,
            json!({
                "mountPoints": [mount(DATA_VOLUME, "/consul", true)],
                "ulimits": [{ "name": "nofile", "softLimit": OPEN_FILES, "hardLimit": OPEN_FILES }],
            }),
        );
        match self.stop_timeout {
            Some(seconds) => with(container, json!({ "stopTimeout": seconds })),
            None => container,
        }
    }
}

fn mount(volume: &str, path: &str, read_only: bool) -> Value {
    json!({ "sourceVolume": volume, "containerPath": path, "readOnly": read_only })
}

fn after_mesh_init() -> Value {
    json!([{ "containerName": names::MESH_INIT, "condition": "SUCCESS" }])
}

fn secret(name: &str, value_from: &str) -> Value {
    json!({ "name": name, "valueFrom": value_from })
}

/// The map with the keys of another one.
fn with(mut value: Value, other: Value) -> Value {
    if let (Value::Object(entries), Value::Object(other)) = (&mut value, other) {
        entries.extend(other);
    }
    value
}
