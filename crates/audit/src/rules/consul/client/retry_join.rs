use super::script::SCRIPT;
use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{AgentScript, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-client-retry-join",
    summary: "the client agent has addresses to join, and retries",
    severity: Severity::Error,
    applies: Applies::ConsulClient,
    is_fixable: false,
    effect: "the agent joins no cluster, and mesh-init waits until the task is stopped",
    explanation: "\
A client agent needs the address of at least one member of the cluster, and has to retry until that member responds: \
tasks start at any time, also while the servers restart. `retry_join` does both; it takes addresses, DNS names and \
cloud lookups such as `provider=aws`. If some of the agent's configuration comes from a file that is not in the \
script, nothing is reported.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/agent/config/config-files",
        "https://developer.hashicorp.com/consul/docs/install/cloud-auto-join",
    ],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-client].command",
        fails: Some(
            r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP\n"]"#,
        ),
        repaired: Some(SCRIPT),
    }),
    check: Check::Task(check),
};

/// These settings and flags contain members, and retry.
const KEEPS_TRYING: [&str; 4] = ["retry_join", "retry-join", "auto_config", "server_addresses"];
/// These do not retry.
const TRIES_ONCE: [&str; 2] = ["start_join", "-join"];

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(client) = subject.consul.as_ref().and_then(|consul| consul.client) else { return };
    let Some(script) = AgentScript::of(client).filter(AgentScript::is_all) else { return };
    let mentions = |names: &[&str]| names.iter().any(|name| script.mentions(name));
    let message = if !mentions(&KEEPS_TRYING) && mentions(&TRIES_ONCE) {
        format!("the agent of {} joins only once, and does not retry", client.label())
    } else if !mentions(&KEEPS_TRYING) {
        format!("the agent of {} has no address to join", client.label())
    } else if script.has_empty_list("retry_join") {
        format!("retry_join of {} is empty", client.label())
    } else {
        return;
    };
    let Some(text) = script.script() else { return };
    findings.add(Draft::new(text.span(), message, "set retry_join to the addresses of the Consul servers").of(client));
}
