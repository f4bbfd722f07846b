use crate::{
    app_mesh::{ResourceKind, Resources},
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-route-target-missing",
    summary: "the targets of a route exist as virtual nodes, those of a gateway route as virtual services",
    severity: Severity::Error,
    applies: Applies::AppMeshResources,
    is_fixable: false,
    effect: "the target's share of the requests is answered with 503",
    explanation: "\
A route distributes its requests among virtual nodes by weight. The share of a missing virtual node fails. A gateway \
route sends all of its requests to one virtual service.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/routes.html",
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/gateway-routes.html",
    ],
    example: Some(Example {
        base: Base::AppMeshResources,
        given: &[],
        at: "[route all].route.spec.httpRoute.action.weightedTargets",
        fails: Some(r#"[{ "virtualNode": "orders", "weight": 90 }, { "virtualNode": "orders-v2", "weight": 10 }]"#),
        repaired: Some(r#"[{ "virtualNode": "orders", "weight": 90 }, { "virtualNode": "stock", "weight": 10 }]"#),
    }),
    check: Check::Resources(check),
};

fn check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    let kinds = [ResourceKind::Route, ResourceKind::GatewayRoute];
    let broken = kinds.into_iter().flat_map(|kind| resources.broken_references(kind));
    for (resource, mesh, reference) in broken {
        if Some(reference.kind) == resource.kind.owner() {
            continue;
        }
        let kind = reference.kind.as_str();
        let message =
            format!("{} sends requests to the {kind} {}, which does not exist", resource.label(), reference.name);
        let help = format!("use one of {}, or create it", resources.names(reference.kind, mesh));
        findings(resource, Draft::new(reference.node.place.span, message, help));
    }
}
