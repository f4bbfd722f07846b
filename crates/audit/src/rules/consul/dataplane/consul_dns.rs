use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-dns-without-transparent-proxy",
    summary: "Consul DNS is on only with transparent proxy",
    severity: Severity::Error,
    applies: Applies::ConsulDataplane,
    is_fixable: false,
    effect: "Consul DNS stays off, and the app cannot resolve the mesh's names",
    explanation: "\
With `transparentProxy.consulDNS.enabled`, Consul Dataplane answers DNS requests in the task, and mesh-init redirects \
them to it. Both require transparent proxy, which also makes the returned addresses reachable; without it, and in \
gateways, the setting has no effect. The Terraform module refuses it.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/reference/ecs",
        "https://developer.hashicorp.com/consul/docs/ecs/tech-specs",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "config.transparentProxy.consulDNS",
        fails: Some(r#"{ "enabled": true }"#),
        repaired: None,
    }),
    check: Check::Task(check),
};

const DNS_SETTING: &str = "transparentProxy.consulDNS.enabled";

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let configuration = &consul.configuration;
    if configuration.flag(DNS_SETTING, false) == Some(true) && is_off(consul) {
        let message = "Consul DNS is on, but transparent proxy is off";
        let help = "switch transparent proxy on (on EC2 only), or Consul DNS off";
        findings.add(Draft::new(configuration.place_of(DNS_SETTING).span, message, help));
    }
}

/// In gateways, both settings are without effect.
fn is_off(consul: &ConsulTask<'_>) -> bool {
    consul.configuration.flag("transparentProxy.enabled", true) == Some(false)
}
