use crate::{
    app_mesh::{Reference, Resource, ResourceKind, Resources},
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
    is_fixable: false,
    effect: "requests to the virtual services that the router provides match nothing and are answered with 404",
    explanation: "\
A virtual router has no effect by itself: its routes determine which virtual nodes get which requests. A router \
without routes is reported only if it provides a virtual service, and only if the run has an export of other routes of \
the mesh, or templates that create the mesh and other routes.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_routers.html",
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/routes.html",
    ],
    example: Some(Example {
        base: Base::AppMeshResources,
        given: &[(
            "[router]",
            r#"{ "virtualRouter": { "meshName": "shop", "virtualRouterName": "stock", "spec": { "listeners": [{ "portMapping": { "port": 9090, "protocol": "http" } }] } } }"#,
        )],
        at: "[virtualService stock.shop.local].virtualService.spec.provider",
        fails: Some(r#"{ "virtualRouter": { "virtualRouterName": "stock" } }"#),
        repaired: Some(r#"{ "virtualNode": { "virtualNodeName": "stock" } }"#),
    }),
    check: Check::Resources(check),
};

fn check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for router in resources.of(ResourceKind::VirtualRouter) {
        let is_provider = |service: &Resource, mesh: &str, to: &Reference<'_>| {
            service.kind == ResourceKind::VirtualService
                && to.kind == ResourceKind::VirtualRouter
                && router.is_called(mesh, to.name)
        };
        let service = resources.references().find(|(service, mesh, to)| is_provider(service, mesh, to));
        if let Some((service, ..)) = service.filter(|_| resources.lacks_routes(router)) {
            let message = format!("{} provides the {}, but has no route", router.label(), service.label());
            findings(router, Draft::new(router.span, message, "create a route to a virtual node"));
        }
    }
}
