use super::defect::defect_of;
use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-resilience-off",
    summary: "networkResilienceConfig is enabled",
    severity: Severity::Warning,
    applies: Applies::ConsulDataplane,
    is_fixable: false,
    effect: "mesh-init ignores the settings of outlierDetection, and Envoy ejects no failing instances",
    explanation: "\
mesh-init writes `service.networkResilienceConfig` to Consul only if its `enabled` is true, which is not the default. \
Settings of `outlierDetection` alone have no effect. If they are to have none, set `enabled` to false.",
    sources: &["https://github.com/hashicorp/terraform-aws-consul-ecs/pull/425"],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[
            ("containerDefinitions[consul-dataplane].image", r#""hashicorp/consul-dataplane:1.9.3""#),
            ("containerDefinitions[consul-ecs-mesh-init].image", r#""public.ecr.aws/hashicorp/consul-ecs:0.10.0""#),
            ("containerDefinitions[consul-ecs-health-sync].image", r#""public.ecr.aws/hashicorp/consul-ecs:0.10.0""#),
        ],
        at: "config.service.networkResilienceConfig",
        fails: Some(r#"{ "outlierDetection": { "maxFailures": 5 } }"#),
        repaired: Some(r#"{ "enabled": false, "outlierDetection": { "maxFailures": 5 } }"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let configuration = &consul.configuration;
    let has_settings = matches!(configuration.at("service.networkResilienceConfig.outlierDetection"), Maybe::Known(_));
    if !has_settings || !matches!(configuration.at("service.networkResilienceConfig.enabled"), Maybe::Absent) {
        return;
    }
    let Some((release, defect)) = defect_of(consul, &RULE) else { return };
    let span = configuration.place_of("service.networkResilienceConfig").span;
    let message = format!("consul-ecs {release}: {}", defect.what);
    findings.add(Draft::new(span, message, "set networkResilienceConfig.enabled to true or false"));
}
