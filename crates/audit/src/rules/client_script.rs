//! The script of the Consul client agent.

use std::net::IpAddr;

use super::prelude::*;
use crate::subject::AgentScript;

/// A correct script without a configuration file: the complete `command` of `consul-client`.
const SCRIPT: &str = r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -hcl 'leave_on_terminate = true' -encrypt $CONSUL_GOSSIP_ENCRYPTION_KEY\n"]"#;

pub(super) static CONSUL_CLIENT_SHELL: Rule = Rule {
    id: "consul-client-shell",
    summary: "a shell runs the script of consul-client",
    is_fixable: true,
    effect: "the script is used as the name of a program, and the agent never starts",
    explanation: "\
The agent needs the task's address and a configuration file before it starts, so that the container runs a script. ECS \
does not start a shell by itself: the entry point has to be one that takes the script as an argument, such as \
`[\"/bin/sh\", \"-ec\"]`. With `-e`, the script stops at the first error instead of starting an agent with an \
incomplete configuration.",
    sources: &[pages::CONSUL_CLIENT_INSTALL, pages::ECS_CONTAINER],
    example: Some(Base::Client.missing("containerDefinitions[consul-client].entryPoint")),
    ..Rule::once_per_task(Applies::ConsulClient, check_client_shell)
};

fn check_client_shell(subject: &Subject<'_>) -> Option<Draft> {
    let client = subject.consul.as_ref()?.client?;
    let script = AgentScript::of(client)?;
    // A word with unknown parts may be the shell or its flag.
    let words = client.entry_point.items.iter().chain(&client.command.items);
    let is_known = words.filter(|word| script.script().is_none_or(|script| script.span() != word.span()));
    if !script.is_script() || script.has_shell() || is_known.into_iter().any(|word| word.text().is_none()) {
        return None;
    }
    let entry_point = &client.entry_point;
    let message = match entry_point.texts() {
        Some(words) if !words.is_empty() => {
            format!("{} has a script, and the entry point {}", client.label(), entry_point.shown_program())
        }
        _ => format!("{} has a script, but no shell to run it", client.label()),
    };
    // If the command has other words beside the script, the right entry point is unknown.
    let is_plain = client.command.items.len() == 1;
    let fix = Fix::set(&entry_point.place, vec!["/bin/sh", "-ec"]).filter(|_| is_plain);
    let help = "set the entry point to [\"/bin/sh\", \"-ec\"]";
    Some(Draft::new(entry_point.place.span, message, help).of(client).fix(fix))
}

pub(super) static CONSUL_CLIENT_EXEC: Rule = Rule {
    id: "consul-client-exec",
    summary: "the script of consul-client ends with exec consul agent",
    effect: "the agent does not get TERM: it is killed, and its node and services remain in Consul as failed",
    explanation: "\
ECS sends TERM to the container's main process. Without `exec`, that is the shell, which does not forward it. The \
agent runs until it is killed, and does not leave the cluster; Consul keeps a failed member and its services for 72 \
hours, and other services see them as critical instances. With `exec`, the agent replaces the shell and gets the \
signal.",
    sources: &[pages::CONSUL_CLIENT_ARCHITECTURE, "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_StopTask.html"],
    example: Some(Base::Client.wrong("containerDefinitions[consul-client].command", r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nconsul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -hcl 'leave_on_terminate = true' -encrypt $CONSUL_GOSSIP_ENCRYPTION_KEY\n"]"#).repaired_to(SCRIPT)),
    ..Rule::once_per_task(Applies::ConsulClient, check_client_exec)
};

fn check_client_exec(subject: &Subject<'_>) -> Option<Draft> {
    let client = subject.consul.as_ref()?.client?;
    let script = AgentScript::of(client).filter(AgentScript::has_shell)?;
    // A script that catches TERM may stop the agent itself.
    if script.starts_agent_with_exec() != Some(false) || script.mentions("trap ") {
        return None;
    }
    let text = script.script()?;
    let message = format!("the script of {} starts the agent without exec", client.label());
    Some(Draft::new(text.span(), message, "start the agent with exec consul agent").of(client))
}

pub(super) static CONSUL_CLIENT_LEAVE: Rule = Rule {
    id: "consul-client-leave",
    summary: "the client agent leaves the cluster when its task ends",
    is_fixable: true,
    effect: "each task that ends stays in Consul as a failed node for 72 hours, with its services as critical instances",
    explanation: "\
With `leave_on_terminate = true`, the agent leaves the cluster when it gets TERM: its node and services are removed at \
once. With false it just stops, as in a crash, and Consul waits for it to come back, which a task never does. The \
default of agents in client mode is true, so that only `false` is reported. The official script sets it explicitly.",
    sources: &[pages::CONSUL_AGENT_CONFIGURATION, pages::CONSUL_CLIENT_ARCHITECTURE],
    example: Some(Base::Client.wrong("containerDefinitions[consul-client].command", r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -hcl 'leave_on_terminate = false'\n"]"#).repaired_to(r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -hcl 'leave_on_terminate = true'\n"]"#)),
    ..Rule::once_per_task(Applies::ConsulClient, check_client_leave)
};

const SETTING: &str = "leave_on_terminate";

fn check_client_leave(subject: &Subject<'_>) -> Option<Draft> {
    let client = subject.consul.as_ref()?.client?;
    let script = AgentScript::of(client)?;
    if script.setting(SETTING) != Some("false") {
        return None;
    }
    let text = script.script()?;
    let repaired = text.text().map(|text| text.replace("leave_on_terminate = false", "leave_on_terminate = true"));
    let fix = repaired.filter(|repaired| text.text() != Some(repaired)).and_then(|text_| Fix::set(&text.place, text_));
    let message = format!("the agent of {} does not leave the cluster: {SETTING} is false", client.label());
    Some(Draft::new(text.span(), message, format!("set {SETTING} to true")).of(client).fix(fix))
}

pub(super) static CONSUL_CLIENT_RETRY_JOIN: Rule = Rule {
    id: "consul-client-retry-join",
    summary: "the client agent has addresses to join, and retries",
    effect: "the agent joins no cluster, and mesh-init waits until the task is stopped",
    explanation: "\
A client agent needs the address of at least one member of the cluster, and has to retry until that member responds: \
tasks start at any time, also while the servers restart. `retry_join` does both; it takes addresses, DNS names and \
cloud lookups such as `provider=aws`. If some of the agent's configuration comes from a file that is not in the \
script, nothing is reported.",
    sources: &[pages::CONSUL_AGENT_CONFIGURATION, "https://developer.hashicorp.com/consul/docs/install/cloud-auto-join"],
    example: Some(Base::Client.wrong("containerDefinitions[consul-client].command", r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP\n"]"#).repaired_to(SCRIPT)),
    ..Rule::once_per_task(Applies::ConsulClient, check_client_retry_join)
};

/// These settings and flags contain members, and retry.
const KEEPS_TRYING: [&str; 4] = ["retry_join", "retry-join", "auto_config", "server_addresses"];
/// These do not retry.
const TRIES_ONCE: [&str; 2] = ["start_join", "-join"];

fn check_client_retry_join(subject: &Subject<'_>) -> Option<Draft> {
    let client = subject.consul.as_ref()?.client?;
    let script = AgentScript::of(client).filter(AgentScript::is_all)?;
    let mentions = |names: &[&str]| names.iter().any(|name| script.mentions(name));
    let message = if !mentions(&KEEPS_TRYING) && mentions(&TRIES_ONCE) {
        format!("the agent of {} joins only once, and does not retry", client.label())
    } else if !mentions(&KEEPS_TRYING) {
        format!("the agent of {} has no address to join", client.label())
    } else if script.has_empty_list("retry_join") {
        format!("retry_join of {} is empty", client.label())
    } else {
        return None;
    };
    let text = script.script()?;
    Some(Draft::new(text.span(), message, "set retry_join to the addresses of the Consul servers").of(client))
}

pub(super) static CONSUL_CLIENT_ADVERTISE: Rule = Rule {
    id: "consul-client-advertise",
    summary: "the client agent advertises the address in the task's metadata",
    severity: Severity::Warning,
    effect: "other agents and proxies may get an address at which the task is unreachable",
    explanation: "\
A task has several network interfaces: its own, with the address in the VPC, and one or two for ECS's own endpoints. \
Without `advertise_addr`, the agent chooses one of their addresses, which may be unreachable for others. The right \
address is in the task's metadata: `Networks[0].IPv4Addresses[0]` in the response of `$ECS_CONTAINER_METADATA_URI_V4`. \
A fixed address is wrong for every task but one.",
    sources: &[pages::CONSUL_AGENT_CONFIGURATION, "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v4-fargate.html"],
    example: Some(Base::Client.wrong("containerDefinitions[consul-client].command", r#"["cp /bin/consul /bin/consul-inject/consul\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -retry-join consul.example.internal -hcl 'leave_on_terminate = true'\n"]"#).repaired_to(SCRIPT)),
    ..Rule::once_per_task(Applies::ConsulClient, check_client_advertise)
};

/// The settings and flags for the address. `advertise_reconnect_timeout` has another purpose.
const ADDRESS_SETTINGS: [&str; 4] = ["advertise_addr", "bind_addr", "-advertise", "-bind"];

fn check_client_advertise(subject: &Subject<'_>) -> Option<Draft> {
    let client = subject.consul.as_ref()?.client?;
    let script = AgentScript::of(client)?;
    let value = script.setting("advertise_addr").or_else(|| script.flag("advertise"));
    let message = match value {
        Some(value) if value.parse::<IpAddr>().is_ok() => {
            format!("the agent of {} advertises {value} in every task", client.label())
        }
        None if script.is_all() && !ADDRESS_SETTINGS.iter().any(|setting| script.mentions(setting)) => {
            format!("the agent of {} has no address to advertise", client.label())
        }
        Some(_) | None => return None,
    };
    let text = script.script()?;
    let help = "set advertise_addr to the first address of the task's metadata: .Networks[0].IPv4Addresses[0]";
    Some(Draft::new(text.span(), message, help).of(client))
}

pub(super) static CONSUL_CLIENT_HTTP_EXPOSED: Rule = Rule {
    id: "consul-client-http-exposed",
    summary: "the client agent serves its APIs at 127.0.0.1 only",
    severity: Severity::Warning,
    effect: "any host that reaches the task's address can register services and read the catalog through its agent",
    explanation: "\
`client_addr` is the address at which the agent serves HTTP, gRPC and DNS. With 0.0.0.0, that includes the task's \
address in the VPC, which only the security group protects; without ACLs, the API accepts every request. The task's \
own containers reach it at 127.0.0.1. The official script keeps `client_addr = \"0.0.0.0\"` and sets `addresses` for \
each API, which takes precedence.",
    sources: &[pages::CONSUL_AGENT_CONFIGURATION],
    example: Some(Base::Client.wrong("containerDefinitions[consul-client].command", r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 0.0.0.0 -advertise $IP -retry-join consul.example.internal\n"]"#).repaired_to(SCRIPT)),
    ..Rule::once_per_task(Applies::ConsulClient, check_client_http_exposed)
};

const HELP: &str = "set client_addr to 127.0.0.1, or http in addresses";

fn check_client_http_exposed(subject: &Subject<'_>) -> Option<Draft> {
    let client = subject.consul.as_ref()?.client?;
    let script = AgentScript::of(client).filter(AgentScript::is_all)?;
    let address = script.setting("client_addr").or_else(|| script.flag("client"));
    let own = match script.setting_in("addresses", "http") {
        Some(own) => own,
        None if script.mentions("addresses") => return None,
        None => None,
    };
    if own.or(address) != Some("0.0.0.0") {
        return None;
    }
    let text = script.script()?;
    let message = format!("the agent of {} serves its APIs to the network", client.label());
    Some(Draft::new(text.span(), message, HELP).of(client))
}
