use crate::{
    app_mesh::{ResourceKind, Resources},
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-route-protocol",
    summary: "a route speaks the protocol of its virtual router",
    severity: Severity::Error,
    applies: Applies::AppMeshResources,
    effect: "the listener of the router cannot follow the route, and its requests find no way",
    explanation: "\
The listener of a virtual router has one protocol: `http`, `http2`, `grpc` or `tcp`. The router's routes have to be of \
that protocol, which is the key that they stand under: `httpRoute`, `http2Route`, `grpcRoute` or `tcpRoute`.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/routes.html",
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_routers.html",
    ],
    examples: &[Example {
        base: Base::AppMeshResources,
        given: &[],
        at: "[route all].route.spec",
        fails: Some(
            r#"{ "priority": 10, "tcpRoute": { "action": { "weightedTargets": [{ "virtualNode": "orders", "weight": 100 }] } } }"#,
        ),
        repaired: Some(
            r#"{ "priority": 10, "httpRoute": { "match": { "prefix": "/" }, "action": { "weightedTargets": [{ "virtualNode": "orders", "weight": 100 }] } } }"#,
        ),
    }],
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
            let (label, spoken) = (route.label(), listened.join(" and "));
            let message = format!("{label} is of the protocol {protocol}, but {} listens for {spoken}", router.label());
            let help = format!("make it a route of the protocol {spoken}, or change the router's listener");
            findings(route, Draft::new(node.place.span, message, help));
        }
    }
}
