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
    effect: "with both, the service is never registered; with neither, a service without a port is",
    explanation: "\
A task is registered in Consul either as a service with a proxy beside it (`service` and `proxy`) or as a gateway (`gateway`). \
Where both are there, consul-ecs registers the gateway and reads nothing of the service. Where both are missing it registers a \
service named after the family, with port 0, that nobody can reach.",
    sources: &["https://developer.hashicorp.com/consul/docs/reference/ecs"],
    examples: &[
        Example {
            base: Base::ApiGateway,
            given: &[],
            at: "config.service",
            fails: Some(r#"{ "name": "api-gateway", "port": 8443 }"#),
            repaired: None,
        },
        Example {
            base: Base::Dataplane,
            given: &[],
            at: "config.service",
            fails: None,
            repaired: Some(r#"{ "name": "web", "port": 9090 }"#),
        },
    ],
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let configuration = &consul.configuration;
    // The gateways of 0.5 still had a service with port 0.
    let had_both = consul.version().is_some_and(|version| version.minor < 6);
    let (path, message, help) = match (configuration.at("service"), configuration.at("gateway")) {
        (Maybe::Known(_), Maybe::Known(_)) if !had_both => {
            ("service", "the configuration describes a service and a gateway", "take service away, or gateway")
        }
        (Maybe::Absent, Maybe::Absent) => {
            ("service", "the configuration describes neither a service nor a gateway", "add service, with its port")
        }
        _ => return,
    };
    findings.add(Draft::new(configuration.place_of(path).span, message, help));
}
