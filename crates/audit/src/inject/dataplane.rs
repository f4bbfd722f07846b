//! The containers of the dataplane generation (consul-ecs 0.8 and newer).

use serde_json::{Value, json};

use super::{Plan, after_mesh_init, secret};
use crate::subject::names;
use mesh::consul_ecs::CONFIG_VARIABLE;

/// The port of the proxy's readiness check. Source: the default of `proxy.healthCheckPort`.
const READINESS_PORT: u16 = 22_000;

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
        let mut health_sync = self.health_sync(&environment, &authority);
        if let Some(map) = health_sync.as_object_mut() {
            map.insert("user".to_owned(), json!("5996"));
            map.insert("restartPolicy".to_owned(), restart_policy());
            // health-sync writes no file. The proxy writes Envoy's configuration to its temporary directory. Sources:
            // https://github.com/hashicorp/consul-ecs/blob/main/subcommand/health-sync/command.go and
            // https://github.com/hashicorp/consul-dataplane/pull/253
            map.insert("readonlyRootFilesystem".to_owned(), json!(true));
        }
        vec![mesh_init, dataplane, health_sync]
    }

    fn dataplane_configuration(&self) -> Value {
        let mut configuration = self.configuration();
        let tls = self.options.ca_secret.is_some();
        let http_port = if tls { 8501 } else { 8500 };
        let grpc_port = if tls { 8503 } else { 8502 };
        if let Some(map) = configuration.as_object_mut() {
            map.insert("consulLogin".to_owned(), json!({ "enabled": self.options.acls }));
            map.insert(
                "consulServers".to_owned(),
                json!({
                    "hosts": self.options.consul_hosts,
                    "defaults": { "tls": tls },
                    "http": { "https": tls, "port": http_port },
                    "grpc": { "port": grpc_port },
                }),
            );
            map.insert("transparentProxy".to_owned(), json!({ "enabled": false }));
        }
        configuration
    }
}

/// ECS restarts health-sync, which logs in anew and writes all checks again. Exit code 0 means that it has deregistered the
/// service. The other containers must not be restarted: see the rule `consul-restart-policy`. 60 seconds is the least
/// that ECS takes.
fn restart_policy() -> Value {
    json!({ "enabled": true, "ignoredExitCodes": [0], "restartAttemptPeriod": 60 })
}
