//! The containers of HashiCorp's module, with the values that injection changes.

use serde_json::{Map, Value, json};

use super::{InjectError, Plan};
use crate::subject::names;
use audit_read::{definition::Container, input::mesh_task};

/// A container, as ECS's JSON has it.
type Json = Map<String, Value>;

/// The memory that a container reserves where it must, in MiB. It may use more. HashiCorp measured at most 87 MB. Source:
/// <https://developer.hashicorp.com/consul/docs/v1.16.x/ecs/task-resource-usage>
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
            "consul_server_hosts": options.consul_hosts,
            "acls": options.acls,
            "tls": options.ca_secret.is_some(),
            "consul_ca_cert_arn": options.ca_secret.as_deref().unwrap_or_default(),
            "enable_transparent_proxy": false,
        })
    }

    /// A container of the module with the values that differ here: its logs, its memory, and what makes the containers outlive
    /// failures.
    fn changed(&self, mut container: Json) -> Json {
        let own = match container.get("name").and_then(Value::as_str).unwrap_or_default() {
            names::DATAPLANE => match self.stop_timeout {
                Some(seconds) => json!({ "stopTimeout": seconds }),
                None => json!({}),
            },
            names::HEALTH_SYNC => json!({
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
}
