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
    effect: "Envoy gets no configuration any more: a task that starts anew never becomes healthy",
    explanation: "\
AWS ended App Mesh on 2026-09-30. Its API and its control plane are gone, so that the findings of the other `appmesh-` rules \
matter only while you move. Two ways lead out: Consul's service mesh on ECS, for which `mesh-audit inject` turns the plain app \
definition into one of the mesh, and ECS Service Connect, which ECS runs itself. Either way the Envoy container, the proxy \
configuration and the X-Ray daemon behind it leave the definition.",
    sources: &[
        "https://aws.amazon.com/blogs/containers/migrating-from-aws-app-mesh-to-amazon-ecs-service-connect/",
        "https://developer.hashicorp.com/consul/docs/ecs",
    ],
    // Every definition of App Mesh is one: there is no repaired twin but one without it.
    examples: &[],
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
        "move to Consul on ECS (mesh-audit inject) or to ECS Service Connect",
    ));
}
