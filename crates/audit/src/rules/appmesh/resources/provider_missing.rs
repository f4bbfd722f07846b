use crate::{
    app_mesh::{ResourceKind, Resources},
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-provider-missing",
    summary: "the provider of a virtual service exists",
    severity: Severity::Error,
    applies: Applies::AppMeshResources,
    is_fixable: false,
    effect: "requests to the virtual service have no target and are answered with 404 or refused",
    explanation: "\
A virtual service is a name; its provider, a virtual node or a virtual router of the same mesh, answers the requests. \
It is reported as missing only if the run has other resources of that kind of the same mesh.",
    sources: &["https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_services.html"],
    example: Some(Example {
        base: Base::AppMeshResources,
        given: &[],
        at: "[virtualService orders.shop.local].virtualService.spec.provider.virtualRouter.virtualRouterName",
        fails: Some(r#""order""#),
        repaired: Some(r#""orders""#),
    }),
    check: Check::Resources(check),
};

fn check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for (resource, mesh, reference) in resources.broken_references(ResourceKind::VirtualService) {
        let kind = reference.kind.as_str();
        let message =
            format!("{} is provided by the {kind} {}, which does not exist", resource.label(), reference.name);
        let help = format!("use one of {}, or create it", resources.names(reference.kind, mesh));
        findings(resource, Draft::new(reference.node.place.span, message, help));
    }
}
