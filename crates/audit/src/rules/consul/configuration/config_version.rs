use super::schema::{Fault, problems};
use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-config-version",
    summary: "the image's version of consul-ecs knows every field of the configuration",
    severity: Severity::Error,
    applies: Applies::ConsulAndController,
    is_fixable: false,
    effect: "consul-ecs refuses the configuration and fails, or ignores the field",
    explanation: "\
Each release of consul-ecs has its own schema of the configuration, in which a key of another release is unknown. \
After an upgrade, old keys may remain (`consulHTTPAddr`, `service.checks`); before an upgrade, new keys may be used \
too early (`transparentProxy` before 0.8, `networkResilienceConfig` before 0.9.4). The rule needs a version in the \
image's tag; with `latest` or a digest alone, it reports nothing.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/reference/ecs",
        "https://developer.hashicorp.com/consul/docs/ecs/upgrade-to-dataplanes",
        "https://github.com/hashicorp/consul-ecs/blob/main/CHANGELOG.md",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[
            ("containerDefinitions[consul-dataplane].image", r#""hashicorp/consul-dataplane:latest""#),
            ("containerDefinitions[consul-ecs-mesh-init].image", r#""public.ecr.aws/hashicorp/consul-ecs:0.9""#),
            ("containerDefinitions[consul-ecs-health-sync].image", r#""public.ecr.aws/hashicorp/consul-ecs:0.9""#),
        ],
        at: "config.service.networkResilienceConfig.outlierDetection.consecutive5xx",
        fails: Some("5"),
        repaired: None,
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul_ecs) = subject.consul_ecs() else { return };
    let Some(version) = &consul_ecs.version else { return };
    for problem in problems(&consul_ecs) {
        let Fault::OtherVersion { releases, is_refused } = &problem.fault else { continue };
        let does = if *is_refused { "refuses" } else { "ignores" };
        let message = format!("{} needs {releases}, and consul-ecs {version} {does} it", problem.path);
        let draft = Draft::new(problem.span, message, "remove it, or use an image that supports it");
        findings.add(consul_ecs.of_holder(draft));
    }
}
