use crate::{
    app_mesh::{ResourceKind, Resources},
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-route-protocol",
    summary: "a route has the protocol of its virtual router",
    severity: Severity::Error,
    applies: Applies::AppMeshResources,
    is_fixable: false,
    effect: "the listener of the router cannot use the route, and its requests fail",
    explanation: "\
The listener of a virtual router has one protocol: `http`, `http2`, `grpc` or `tcp`. The router's routes need the same \
protocol, which is the key of their specification: `httpRoute`, `http2Route`, `grpcRoute` or `tcpRoute`.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/routes.html",
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_routers.html",
    ],
    example: Some(Example {
        base: Base::AppMeshResources,
        given: &[],
        at: "[route all].route.spec",
        fails: Some(
            r#"{ "priority": 10, "tcpRoute": { "action": { "weightedTargets": [{ "virtualNode": "orders", "weight": 100 }] } } }"#,
        ),
        repaired: Some(
            r#"{ "priority": 10, "httpRoute": { "match": { "prefix": "/" }, "action": { "weightedTargets": [{ "virtualNode": "orders", "weight": 100 }] } } }"#,
        ),
    }),
    check: Check::Resources(check),
};

fn check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for router in resources.of(ResourceKind::VirtualRouter) {
        let listened: Option<Vec<&str>> = router.listeners().map(|it| it.get("protocol")?.text()).collect();
        let Some(listened) = listened.filter(|listened| !listened.is_empty()) else { continue };
        for route in resources.routes(router) {
            let Some((protocol, node)) = route.route().filter(|(protocol, _)| !listened.contains(protocol)) else {
                continue;
            };
            let (label, accepted) = (route.label(), listened.join(" and "));
            let message = format!("{label} has the protocol {protocol}, but {} listens for {accepted}", router.label());
            let help = format!("make it a route for {accepted}, or change the router's listener");
            findings(route, Draft::new(node.place.span, message, help));
        }
    }
}
