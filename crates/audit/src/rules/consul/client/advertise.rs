use std::net::IpAddr;

use super::script::SCRIPT;
use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{AgentScript, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-client-advertise",
    summary: "the client agent advertises the address in the task's metadata",
    severity: Severity::Warning,
    applies: Applies::ConsulClient,
    is_fixable: false,
    effect: "other agents and proxies may get an address at which the task is unreachable",
    explanation: "\
A task has several network interfaces: its own, with the address in the VPC, and one or two for ECS's own endpoints. \
Without `advertise_addr`, the agent chooses one of their addresses, which may be unreachable for others. The right \
address is in the task's metadata: `Networks[0].IPv4Addresses[0]` in the response of `$ECS_CONTAINER_METADATA_URI_V4`. \
A fixed address is wrong for every task but one.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/agent/config/config-files",
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v4-fargate.html",
    ],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-client].command",
        fails: Some(
            r#"["cp /bin/consul /bin/consul-inject/consul\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -retry-join consul.example.internal -hcl 'leave_on_terminate = true'\n"]"#,
        ),
        repaired: Some(SCRIPT),
    }),
    check: Check::Task(check),
};

/// The settings and flags for the address. `advertise_reconnect_timeout` has another purpose.
const ADDRESS_SETTINGS: [&str; 4] = ["advertise_addr", "bind_addr", "-advertise", "-bind"];

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(client) = subject.consul.as_ref().and_then(|consul| consul.client) else { return };
    let Some(script) = AgentScript::of(client) else { return };
    let value = script.setting("advertise_addr").or_else(|| script.flag("advertise"));
    let message = match value {
        Some(value) if value.parse::<IpAddr>().is_ok() => {
            format!("the agent of {} advertises {value} in every task", client.label())
        }
        None if script.is_all() && !ADDRESS_SETTINGS.iter().any(|setting| script.mentions(setting)) => {
            format!("the agent of {} has no address to advertise", client.label())
        }
        Some(_) | None => return,
    };
    let Some(text) = script.script() else { return };
    let help = "set advertise_addr to the first address of the task's metadata: .Networks[0].IPv4Addresses[0]";
    findings.add(Draft::new(text.span(), message, help).of(client));
}
