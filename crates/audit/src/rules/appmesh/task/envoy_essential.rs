use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-envoy-essential",
    summary: "Envoy is essential",
    severity: Severity::Warning,
    applies: Applies::AppMesh,
    is_fixable: true,
    effect: "if Envoy stops, the task keeps running without any connections, and ECS does not replace it",
    explanation: "\
All traffic of the task is redirected to Envoy. If the container is not essential and stops, ECS considers the task as \
running while all of its connections fail. If it is essential, ECS stops the task, and the service starts another one.",
    sources: &["https://docs.aws.amazon.com/app-mesh/latest/userguide/getting-started-ecs.html"],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "containerDefinitions[envoy].essential",
        fails: Some("false"),
        repaired: Some("true"),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(envoy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.envoy) else { return };
    if envoy.is_essential() == Some(false) {
        let message = format!("{} is not essential", envoy.label());
        let draft = Draft::new(envoy.essential.span(), message, "set essential to true");
        findings.add(draft.of(envoy).fix(Fix::set(&envoy.essential.place, true)));
    }
}
