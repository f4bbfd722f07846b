use super::defect::defect_of;
use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-resilience-refused",
    summary: "networkResilienceConfig needs servers that know its fields",
    severity: Severity::Info,
    applies: Applies::ConsulDataplane,
    is_fixable: false,
    effect: "with Consul 1.21, mesh-init fails after it has registered the service, and the task never starts",
    explanation: "\
For `service.networkResilienceConfig`, mesh-init of 0.10.0 writes a `service-defaults` entry with the field \
`EnforcingConsecutiveGatewayFailure`, also if the configuration does not set it. Consul 1.21 refuses this field with \
status 400. A definition does not show the version of the servers: ignore this rule if yours know the field.",
    sources: &["https://github.com/hashicorp/consul-ecs/pull/321", "https://github.com/hashicorp/consul/pull/23563"],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[
            ("containerDefinitions[consul-ecs-mesh-init].image", r#""public.ecr.aws/hashicorp/consul-ecs:0.10.0""#),
            ("containerDefinitions[consul-ecs-health-sync].image", r#""public.ecr.aws/hashicorp/consul-ecs:0.10.0""#),
        ],
        at: "config.service.networkResilienceConfig",
        fails: Some(r#"{ "enabled": true, "outlierDetection": { "maxFailures": 5 } }"#),
        repaired: None,
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    if consul.configuration.flag("service.networkResilienceConfig.enabled", false) != Some(true) {
        return;
    }
    let Some((release, defect)) = defect_of(consul, &RULE) else { return };
    let span = consul.configuration.place_of("service.networkResilienceConfig").span;
    findings.add(Draft::new(span, format!("consul-ecs {release}: {}", defect.what), defect.action.clone()));
}
