use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};
use mesh::service_name::ServiceName;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-family-name",
    summary: "a family that is used as the service's name is a valid name in lower case",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "Consul makes no service identity for the name, and the task gets no token",
    explanation: "\
Without a name in the configuration, consul-ecs registers the service with the name of the task's family, in lower \
case from 0.5 on. A family may begin or end with `-` or `_`, a service's name may not. Set the name of the service in \
the configuration and in the tag `consul.hashicorp.com/service-name`, or rename the family.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/reference/ecs",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RegisterTaskDefinition.html",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[("config.service", r#"{ "port": 9090 }"#)],
        at: "family",
        fails: Some(r#""web_""#),
        repaired: Some(r#""Web""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let family = &subject.definition.family;
    let is_its_name = subject.consul.as_ref().is_some_and(|consul| matches!(consul.configured_name(), Maybe::Absent));
    let Some(name) = family.text().filter(|name| is_its_name && ServiceName::from_family(name).is_err()) else {
        return;
    };
    let message = format!("the service is named after the family {name}, which is not a valid name");
    let help = "name the service in the configuration and in the tag, or rename the family";
    findings.add(Draft::new(family.span(), message, help));
}
