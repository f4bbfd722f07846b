use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};
use mesh::service_name::ServiceName;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-service-name",
    summary: "the service's or gateway's name is valid for a service identity",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "consul-ecs refuses the configuration, or Consul refuses the token's service identity",
    explanation: "\
A task gets its token through a service identity, and Consul accepts those only for names of lower-case letters, \
digits, `-` and `_`, at most 256 characters long, with a letter or digit at both ends. From 0.5 on, consul-ecs itself \
refuses any other name. Without a name in the configuration, it uses the task's family in lower case.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/reference/ecs",
        "https://developer.hashicorp.com/consul/api-docs/acl/tokens",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "config.service.name",
        fails: Some(r#""web.api""#),
        repaired: Some(r#""web""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Maybe::Known(name) = consul.configured_name() else { return };
    if name.parse::<ServiceName>().is_ok() {
        return;
    }
    let path = if consul.is_gateway { "gateway.name" } else { "service.name" };
    let message = format!("{path} is {name:?}, which is not a valid name for a service identity");
    let help = "use lower-case letters, digits, - and _, at most 256, with a letter or digit at both ends";
    findings.add(Draft::new(consul.configuration.place_of(path).span, message, help));
}
