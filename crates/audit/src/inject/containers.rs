//! The containers of HashiCorp's module, with the values that injection changes.

use serde_json::{Map, Value, json};

use super::{InjectError, Plan, Target};
use crate::subject::names;
use audit_read::{definition::Container, input::mesh_task};

/// A container, as ECS's JSON has it.
type Json = Map<String, Value>;

/// The memory that a container reserves where it must, in MiB. It may use more.
const MEMORY: u64 = 128;

impl Plan<'_> {
    /// What an app waits for, and the mesh's containers.
    pub(super) fn containers(&self) -> Result<(Vec<Value>, Vec<Json>), InjectError> {
        let release = self.options.release();
        let mut containers = mesh_task(release, &self.inputs()).ok_or(InjectError::NoModule(release))?.into_iter();
        let apps: Vec<Json> = containers.by_ref().take(self.apps.len()).collect();
        let waits = apps.first().and_then(|app| app.get("dependsOn")?.as_array()).cloned().unwrap_or_default();
        Ok((waits, containers.map(|container| self.changed(container)).collect()))
    }

    fn inputs(&self) -> Value {
        let options = self.options;
        let app = |app: &Container| {
            let is_checked = self.checked.contains(&app.label());
            let checked = json!({ "name": app.label(), "essential": true, "healthCheck": {} });
            if is_checked { checked } else { json!({ "name": app.label() }) }
        };
        let upstreams = options.upstreams.iter();
        let upstreams = upstreams.map(|it| json!({ "destinationName": it.name, "localBindPort": it.port }));
        json!({
            "family": self.service.as_str(),
            "port": self.port,
            "container_definitions": self.apps.iter().map(|container| app(container)).collect::<Value>(),
            "upstreams": upstreams.collect::<Value>(),
            "consul_ecs_image": options.images.consul_ecs,
            "consul_dataplane_image": options.images.dataplane,
            "consul_image": options.images.consul,
            "envoy_image": options.images.envoy,
            "consul_server_hosts": options.consul_hosts,
            "acls": options.acls,
            "tls": options.ca_secret.is_some(),
            "consul_ca_cert_arn": options.ca_secret.as_deref().unwrap_or_default(),
            "enable_transparent_proxy": false,
        })
    }

    /// A container of the module with the values that differ here: the agent's script and tokens, which the module makes from
    /// resources of its own, and what makes the containers outlive failures.
    fn changed(&self, mut container: Json) -> Json {
        let options = self.options;
        let tokens = options.token_secrets.as_ref().filter(|_| options.acls);
        let own = match (container.get("name").and_then(Value::as_str).unwrap_or_default(), options.target) {
            (names::MESH_INIT | names::HEALTH_SYNC, Target::Client) => {
                let token = tokens.map(|tokens| secret("CONSUL_HTTP_TOKEN", &tokens.service));
                json!({ "secrets": token.into_iter().collect::<Value>() })
            }
            (names::CLIENT, _) => {
                let authority = options.ca_secret.as_ref().map(|ca| secret("CONSUL_CACERT", ca));
                let token = tokens.map(|tokens| secret("AGENT_TOKEN", &tokens.client));
                json!({
                    "entryPoint": ["/bin/sh", "-ec"],
                    "command": [self.agent_script()],
                    "secrets": authority.into_iter().chain(token).collect::<Value>(),
                })
            }
            (names::DATAPLANE | names::SIDECAR_PROXY, _) => match self.stop_timeout {
                Some(seconds) => json!({ "stopTimeout": seconds }),
                None => json!({}),
            },
            (names::HEALTH_SYNC, Target::Dataplane) => json!({
                // ECS restarts health-sync, which logs in anew and writes all checks again. Exit code 0 means that it has
                // deregistered the service. The other containers must not be restarted: see the rule
                // `consul-restart-policy`. 60 seconds is the least that ECS takes.
                "restartPolicy": { "enabled": true, "ignoredExitCodes": [0], "restartAttemptPeriod": 60 },
                // health-sync writes no file. The proxy writes Envoy's configuration to its temporary directory. Sources:
                // https://github.com/hashicorp/consul-ecs/blob/main/subcommand/health-sync/command.go and
                // https://github.com/hashicorp/consul-dataplane/pull/253
                "readonlyRootFilesystem": true,
            }),
            _ => json!({}),
        };
        // Fargate and EC2 read 0 as no value.
        container.remove("cpu");
        let logging = self.logging.configuration.iter().map(|logging| ("logConfiguration".to_owned(), logging.clone()));
        let memory = self.needs_memory.then(|| ("memoryReservation".to_owned(), json!(MEMORY)));
        container.extend(own.as_object().cloned().into_iter().flatten().chain(logging).chain(memory));
        container
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

fn secret(name: &str, value_from: &str) -> Value {
    json!({ "name": name, "valueFrom": value_from })
}
