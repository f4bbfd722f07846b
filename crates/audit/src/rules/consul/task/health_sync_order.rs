use super::proxy_order::wait_for;
use crate::{
    example::{Base, Example},
    finding::{Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-health-sync-order",
    summary: "health-sync starts after mesh-init has succeeded",
    severity: Severity::Warning,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "health-sync may not find its checks and token, because they do not exist yet, and fails",
    explanation: "\
mesh-init registers the checks that health-sync updates, and writes the token that health-sync uses. health-sync has \
to start after mesh-init has succeeded; otherwise the result depends on which of the two is faster.",
    sources: &["https://developer.hashicorp.com/consul/docs/ecs/architecture"],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-ecs-health-sync].dependsOn[consul-ecs-mesh-init].condition",
        fails: Some(r#""START""#),
        repaired: Some(r#""SUCCESS""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let (Some(health_sync), Some(mesh_init)) = (consul.health_sync, consul.mesh_init) else { return };
    let Some(name) = mesh_init.name.text() else { return };
    if subject.definition.comes_after(health_sync, name, "SUCCESS") == Some(false) {
        findings.add(wait_for(health_sync, name, "SUCCESS"));
    }
}
