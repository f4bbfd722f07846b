use crate::{
    app_mesh::{Reference, ResourceKind, Resources},
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-router-routes",
    summary: "a virtual router has routes",
    severity: Severity::Warning,
    applies: Applies::AppMeshResources,
    effect: "requests to the virtual services that the router provides match nothing and are answered with 404",
    explanation: "\
A virtual router has no effect by itself: its routes determine which virtual nodes get which requests. A router \
without routes is reported only if the run has routes of the same mesh, and only if it provides a virtual service.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_routers.html",
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/routes.html",
    ],
    examples: &[Example {
        base: Base::AppMeshResources,
        given: &[(
            "[router]",
            r#"{ "virtualRouter": { "meshName": "shop", "virtualRouterName": "stock", "spec": { "listeners": [{ "portMapping": { "port": 9090, "protocol": "http" } }] } } }"#,
        )],
        at: "[virtualService stock.shop.local].virtualService.spec.provider",
        fails: Some(r#"{ "virtualRouter": { "virtualRouterName": "stock" } }"#),
        repaired: Some(r#"{ "virtualNode": { "virtualNodeName": "stock" } }"#),
    }],
    check: Check::Resources(check),
};

fn check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for router in resources.of(ResourceKind::VirtualRouter) {
        let has_routes = resources.routes(router).next().is_some();
        let are_routes_exported = resources.of(ResourceKind::Route).any(|route| route.mesh == router.mesh);
        let service = resources.of(ResourceKind::VirtualService).find(|service| {
            let is_it = |to: &Reference<'_>| to.kind == ResourceKind::VirtualRouter && to.name == router.name;
            service.mesh == router.mesh && service.references().iter().any(is_it)
        });
        if let Some(service) = service.filter(|_| are_routes_exported && !has_routes) {
            let message = format!("{} provides the {}, but has no route", router.label(), service.label());
            findings(router, Draft::new(router.span, message, "create a route to a virtual node"));
        }
    }
}
