use super::script::SCRIPT;
use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{AgentScript, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-client-exec",
    summary: "the script of consul-client ends with exec consul agent",
    severity: Severity::Error,
    applies: Applies::ConsulClient,
    is_fixable: false,
    effect: "the agent does not get TERM: it is killed, and its node and services remain in Consul as failed",
    explanation: "\
ECS sends TERM to the container's main process. Without `exec`, that is the shell, which does not forward it. The \
agent runs until it is killed, and does not leave the cluster; Consul keeps a failed member and its services for 72 \
hours, and other services see them as critical instances. With `exec`, the agent replaces the shell and gets the \
signal.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/v1.13.x/ecs/architecture",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_StopTask.html",
    ],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-client].command",
        fails: Some(
            r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nconsul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -hcl 'leave_on_terminate = true' -encrypt $CONSUL_GOSSIP_ENCRYPTION_KEY\n"]"#,
        ),
        repaired: Some(SCRIPT),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(client) = subject.consul.as_ref().and_then(|consul| consul.client) else { return };
    let Some(script) = AgentScript::of(client).filter(AgentScript::has_shell) else { return };
    // A script that catches TERM may stop the agent itself.
    if script.starts_agent_with_exec() != Some(false) || script.mentions("trap ") {
        return;
    }
    let Some(text) = script.script() else { return };
    let message = format!("the script of {} starts the agent without exec", client.label());
    findings.add(Draft::new(text.span(), message, "start the agent with exec consul agent").of(client));
}
