use crate::{
    app_mesh::{ResourceKind, Resources},
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-route-router-missing",
    summary: "the virtual router of a route and the virtual gateway of a gateway route exist",
    severity: Severity::Error,
    applies: Applies::AppMeshResources,
    is_fixable: false,
    effect: "the route belongs to no router or gateway, and no request uses it",
    explanation: "\
A route belongs to one virtual router, a gateway route to one virtual gateway. If the router or gateway is missing, \
the route is usually one of another environment, or the router or gateway was renamed.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/routes.html",
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_routers.html",
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/gateway-routes.html",
    ],
    example: Some(Example {
        base: Base::AppMeshResources,
        given: &[(
            "[second]",
            r#"{ "route": { "meshName": "shop", "virtualRouterName": "orders", "routeName": "beta", "spec": { "priority": 5, "httpRoute": { "match": { "prefix": "/beta" }, "action": { "weightedTargets": [{ "virtualNode": "orders", "weight": 1 }] } } } } }"#,
        )],
        at: "[route beta].route.virtualRouterName",
        fails: Some(r#""order""#),
        repaired: Some(r#""orders""#),
    }),
    check: Check::Resources(check),
};

fn check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    let kinds = [ResourceKind::Route, ResourceKind::GatewayRoute];
    let broken = kinds.into_iter().flat_map(|kind| resources.broken_references(kind));
    for (resource, mesh, reference) in broken {
        if Some(reference.kind) != resource.kind.owner() {
            continue;
        }
        let kind = reference.kind.as_str();
        let message = format!("{} belongs to the {kind} {}, which does not exist", resource.label(), reference.name);
        let help = format!("use one of {}, or create it", resources.names(reference.kind, mesh));
        findings(resource, Draft::new(reference.node.place.span, message, help));
    }
}
