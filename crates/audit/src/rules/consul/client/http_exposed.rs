use super::script::SCRIPT;
use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{AgentScript, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-client-http-exposed",
    summary: "the client agent serves its APIs at 127.0.0.1 only",
    severity: Severity::Warning,
    applies: Applies::ConsulClient,
    is_fixable: false,
    effect: "any host that reaches the task's address can register services and read the catalog through its agent",
    explanation: "\
`client_addr` is the address at which the agent serves HTTP, gRPC and DNS. With 0.0.0.0, that includes the task's \
address in the VPC, which only the security group protects; without ACLs, the API accepts every request. The task's \
own containers reach it at 127.0.0.1. The official script keeps `client_addr = \"0.0.0.0\"` and sets `addresses` for \
each API, which takes precedence.",
    sources: &["https://developer.hashicorp.com/consul/docs/agent/config/config-files"],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-client].command",
        fails: Some(
            r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 0.0.0.0 -advertise $IP -retry-join consul.example.internal\n"]"#,
        ),
        repaired: Some(SCRIPT),
    }),
    check: Check::Task(check),
};

const HELP: &str = "set client_addr to 127.0.0.1, or http in addresses";

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(client) = subject.consul.as_ref().and_then(|consul| consul.client) else { return };
    let Some(script) = AgentScript::of(client).filter(AgentScript::is_all) else { return };
    let address = script.setting("client_addr").or_else(|| script.flag("client"));
    let own = match script.setting_in("addresses", "http") {
        Some(own) => own,
        None if script.mentions("addresses") => return,
        None => None,
    };
    if own.or(address) != Some("0.0.0.0") {
        return;
    }
    let Some(text) = script.script() else { return };
    let message = format!("the agent of {} serves its APIs to the network", client.label());
    findings.add(Draft::new(text.span(), message, HELP).of(client));
}
