//! The client generation (consul-ecs up to 0.6): the task's own Consul client agent, and Envoy.

mod advertise;
mod agent_image;
mod agent_missing;
mod agent_mounts;
mod exec;
mod http_exposed;
mod leave;
mod ports;
mod proxy_command;
mod proxy_entry_point;
mod proxy_health_check;
mod proxy_image;
mod proxy_missing;
mod retry_join;
mod secrets;
mod shell;

use crate::rule::Rule;

pub(in crate::rules) static RULES: &[&Rule] = &[
    &agent_missing::RULE,
    &agent_image::RULE,
    &shell::RULE,
    &exec::RULE,
    &leave::RULE,
    &retry_join::RULE,
    &advertise::RULE,
    &agent_mounts::RULE,
    &secrets::RULE,
    &ports::RULE,
    &http_exposed::RULE,
    &proxy_missing::RULE,
    &proxy_image::RULE,
    &proxy_entry_point::RULE,
    &proxy_command::RULE,
    &proxy_health_check::RULE,
];

/// A correct script without a file, as examples have it: the whole `command` of `consul-client`.
const SCRIPT: &str = r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -hcl 'leave_on_terminate = true' -encrypt $CONSUL_GOSSIP_ENCRYPTION_KEY\n"]"#;
