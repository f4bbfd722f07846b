use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{MeshResource, RESOURCE_VARIABLES, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-envoy-resource",
    summary: "Envoy has the name of its virtual node or gateway",
    severity: Severity::Error,
    applies: Applies::AppMesh,
    is_fixable: false,
    effect: "App Mesh has no configuration for it, and Envoy never becomes healthy",
    explanation: "\
Envoy requests the configuration of one resource of a mesh. Its name is `mesh/<mesh>/virtualNode/<node>`, \
`mesh/<mesh>/virtualGateway/<gateway>` or the full ARN of either. It is case-sensitive. Routers, routes and services \
have no Envoy.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/envoy-config.html",
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/getting-started-ecs.html",
    ],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "containerDefinitions[envoy].environment[APPMESH_RESOURCE_ARN].value",
        fails: Some(r#""shop/orders""#),
        repaired: Some(r#""mesh/shop/virtualNode/orders""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mesh) = subject.app_mesh.as_ref() else { return };
    let Some(envoy) = mesh.envoy else { return };
    let is_absent =
        |name: &str| matches!(envoy.variable(name), Maybe::Absent) && matches!(envoy.secret(name), Maybe::Absent);
    let (span, message) = match mesh.resource_variable() {
        Some(variable) => {
            if variable.value.text().is_none_or(|value| MeshResource::parse(value).is_some()) {
                return;
            }
            let name = variable.name.text().unwrap_or_default();
            (variable.value.span(), format!("{name} is not the name of a virtual node or gateway"))
        }
        None if RESOURCE_VARIABLES.iter().all(|name| is_absent(name)) => {
            (envoy.environment.place.span, format!("{} has no name of a virtual node or gateway", envoy.label()))
        }
        None => return,
    };
    let help = "set APPMESH_RESOURCE_ARN to mesh/<mesh>/virtualNode/<node>, or to the full ARN";
    findings.add(Draft::new(span, message, help).of(envoy));
}
