use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-dns-without-transparent-proxy",
    summary: "Consul DNS goes with transparent proxy",
    severity: Severity::Error,
    applies: Applies::ConsulDataplane,
    effect: "Consul DNS stays off, and the app cannot resolve the mesh's names",
    explanation: "\
With `transparentProxy.consulDNS.enabled` Consul Dataplane answers DNS requests inside of the task, and mesh-init sends them there. \
It does so only where transparent proxy is on, which also makes the addresses lead anywhere; without it, and in gateways, the \
setting has no effect. The Terraform module refuses it.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/reference/ecs",
        "https://developer.hashicorp.com/consul/docs/ecs/tech-specs",
    ],
    examples: &[Example {
        base: Base::Dataplane,
        given: &[],
        at: "config.transparentProxy.consulDNS",
        fails: Some(r#"{ "enabled": true }"#),
        repaired: None,
    }],
    check: Check::Task(check),
};

const DNS: &str = "transparentProxy.consulDNS.enabled";

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let configuration = &consul.configuration;
    if configuration.flag(DNS, false) == Some(true) && is_off(consul) {
        let message = "Consul DNS is on, and transparent proxy is not";
        let help = "switch transparent proxy on (on EC2 only), or Consul DNS off";
        findings.add(Draft::new(configuration.place_of(DNS).span, message, help));
    }
}

/// A gateway has neither, so that it does no harm there to have both on.
fn is_off(consul: &ConsulTask<'_>) -> bool {
    consul.configuration.flag("transparentProxy.enabled", true) == Some(false)
}
