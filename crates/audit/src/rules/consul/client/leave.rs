use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{AgentScript, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-client-leave",
    summary: "the client agent leaves the cluster when its task ends",
    severity: Severity::Error,
    applies: Applies::ConsulClient,
    is_fixable: true,
    effect: "each task that ends stays in Consul as a failed node for 72 hours, with its services as critical instances",
    explanation: "\
With `leave_on_terminate = true`, the agent leaves the cluster when it gets TERM: its node and services are removed at \
once. With false it just stops, as in a crash, and Consul waits for it to come back, which a task never does. The \
default of agents in client mode is true, so that only `false` is reported. The official script sets it explicitly.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/agent/config/config-files",
        "https://developer.hashicorp.com/consul/docs/v1.13.x/ecs/architecture",
    ],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-client].command",
        fails: Some(
            r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -hcl 'leave_on_terminate = false'\n"]"#,
        ),
        repaired: Some(
            r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -hcl 'leave_on_terminate = true'\n"]"#,
        ),
    }),
    check: Check::Task(check),
};

const SETTING: &str = "leave_on_terminate";

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(client) = subject.consul.as_ref().and_then(|consul| consul.client) else { return };
    let Some(script) = AgentScript::of(client) else { return };
    if script.setting(SETTING) != Some("false") {
        return;
    }
    let Some(text) = script.script() else { return };
    let repaired = text.text().map(|text| text.replace("leave_on_terminate = false", "leave_on_terminate = true"));
    let fix = repaired.filter(|repaired| text.text() != Some(repaired)).and_then(|text_| Fix::set(&text.place, text_));
    let message = format!("the agent of {} does not leave the cluster: {SETTING} is false", client.label());
    findings.add(Draft::new(text.span(), message, format!("set {SETTING} to true")).of(client).fix(fix));
}
