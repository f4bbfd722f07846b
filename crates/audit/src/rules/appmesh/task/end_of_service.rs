use crate::{
    definition::Container,
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-end-of-service",
    summary: "no task definition depends on App Mesh, which ended on 2026-09-30",
    severity: Severity::Error,
    applies: Applies::AppMesh,
    is_fixable: false,
    effect: "Envoy gets no configuration any more: a new task never becomes healthy",
    explanation: "\
AWS ended App Mesh on 2026-09-30. Its API and its control plane do not exist any more, so that the findings of the \
other `appmesh-` rules matter only for a migration. There are two alternatives: Consul's service mesh on ECS, for \
which `ecs-mesh inject` adds the containers to the plain definition of the app, and ECS Service Connect, which ECS \
manages. With both, remove the Envoy container, the proxy configuration and the X-Ray daemon from the definition.",
    sources: &[
        "https://aws.amazon.com/blogs/containers/migrating-from-aws-app-mesh-to-amazon-ecs-service-connect/",
        "https://developer.hashicorp.com/consul/docs/ecs",
    ],
    // Every definition of App Mesh violates the rule: there is no correct example.
    example: None,
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    let span = if definition.proxy.is_absent() {
        subject.app_mesh.as_ref().and_then(|mesh| mesh.envoy).map_or(definition.span(), Container::span)
    } else {
        definition.proxy.span()
    };
    findings.add(Draft::new(
        span,
        "this task definition depends on App Mesh, which ended on 2026-09-30",
        "move to Consul on ECS (ecs-mesh inject) or to ECS Service Connect",
    ));
}
