use serde_json::json;

use super::defect::defect_of;
use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-proxy-section",
    summary: "the configuration of a service has a section proxy",
    severity: Severity::Error,
    applies: Applies::ConsulDataplane,
    is_fixable: true,
    effect: "mesh-init ends with a panic, and the task never starts",
    explanation: "\
consul-ecs accepts a configuration without `proxy`, and one in which it is null, but 0.7.3 to 0.10.0 read it without \
looking whether it is there. An empty map is enough. The defect was recorded with 0.7.3, 0.8.1, 0.9.0 and 0.10.0; whether \
later releases have it is not known. Gateways need no `proxy`.",
    sources: &[
        "https://github.com/hashicorp/consul-ecs/blob/v0.10.0/subcommand/mesh-init/command.go",
        "https://developer.hashicorp.com/consul/docs/reference/ecs",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: IN_0_10_0,
        at: "config.proxy",
        fails: None,
        repaired: Some("{}"),
    }),
    check: Check::Task(check),
};

const IN_0_10_0: &[(&str, &str)] = &[
    ("containerDefinitions[consul-ecs-mesh-init].image", r#""public.ecr.aws/hashicorp/consul-ecs:0.10.0""#),
    ("containerDefinitions[consul-ecs-health-sync].image", r#""public.ecr.aws/hashicorp/consul-ecs:0.10.0""#),
];

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.is_service()) else { return };
    if !matches!(consul.configuration.at("proxy"), Maybe::Absent) {
        return;
    }
    let Some((release, defect)) = defect_of(consul, &RULE) else { return };
    let span = consul.configuration.place_of("proxy").span;
    let message = format!("consul-ecs {release}: {}", defect.what);
    let fix = consul.configure(subject.definition, "proxy", json!({}));
    findings.add(Draft::new(span, message, defect.action.clone()).fix(fix));
}
