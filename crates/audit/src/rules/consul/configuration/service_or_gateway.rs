use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-service-or-gateway",
    summary: "the configuration describes a service or a gateway, and not both",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "with both, the service is never registered; with neither, a service without a port is registered",
    explanation: "\
A task is registered in Consul either as a service with a proxy (`service` and `proxy`) or as a gateway (`gateway`). \
With both, consul-ecs registers the gateway and ignores the service. With neither, it registers a service with the \
family's name and port 0, which is unreachable.",
    sources: &["https://developer.hashicorp.com/consul/docs/reference/ecs"],
    example: Some(Example {
        base: Base::ApiGateway,
        given: &[],
        at: "config.service",
        fails: Some(r#"{ "name": "api-gateway", "port": 8443 }"#),
        repaired: None,
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let configuration = &consul.configuration;
    // The gateways of 0.5 also had a service with port 0.
    let had_both = consul.version().is_some_and(|version| version.minor < 6);
    let (path, message, help) = match (configuration.at("service"), configuration.at("gateway")) {
        (Maybe::Known(_), Maybe::Known(_)) if !had_both => {
            ("service", "the configuration describes a service and a gateway", "remove service or gateway")
        }
        (Maybe::Absent, Maybe::Absent) => {
            ("service", "the configuration describes neither a service nor a gateway", "add service, with its port")
        }
        _ => return,
    };
    findings.add(Draft::new(configuration.place_of(path).span, message, help));
}
