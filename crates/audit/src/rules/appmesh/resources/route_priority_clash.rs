use crate::{
    app_mesh::{Presence, Resource, ResourceKind, Resources},
    document::Node,
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-route-priority-clash",
    summary: "the routes of a virtual router have different priorities",
    severity: Severity::Warning,
    applies: Applies::AppMeshResources,
    is_fixable: false,
    effect: "which of the two routes is tried first is not defined, and a request that matches both may take either",
    explanation: "\
A virtual router tries its routes by priority, the lowest number first, and uses the first one that matches. The order \
of routes with the same priority is undefined.",
    sources: &["https://docs.aws.amazon.com/app-mesh/latest/userguide/routes.html"],
    example: Some(Example {
        base: Base::AppMeshResources,
        given: &[],
        at: "[route beta]",
        fails: Some(
            r#"{ "route": { "meshName": "shop", "virtualRouterName": "orders", "routeName": "beta", "spec": { "priority": 10, "httpRoute": { "match": { "prefix": "/beta" }, "action": { "weightedTargets": [{ "virtualNode": "orders", "weight": 1 }] } } } } }"#,
        ),
        repaired: Some(
            r#"{ "route": { "meshName": "shop", "virtualRouterName": "orders", "routeName": "beta", "spec": { "priority": 5, "httpRoute": { "match": { "prefix": "/beta" }, "action": { "weightedTargets": [{ "virtualNode": "orders", "weight": 1 }] } } } } }"#,
        ),
    }),
    check: Check::Resources(check),
};

fn check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    let routes: Vec<&Resource> =
        resources.of(ResourceKind::Route).filter(|route| route.presence != Presence::Conditional).collect();
    for (index, route) in routes.iter().enumerate() {
        let Some(priority) = route.spec("priority").and_then(Node::number) else { continue };
        let is_same = |other: &&&Resource| {
            are_of_one_router(resources, route, other)
                && other.spec("priority").and_then(Node::number) == Some(priority)
        };
        let Some(other) = routes.iter().take(index).find(is_same) else { continue };
        let message = format!("{} has the same priority {priority} as {}", route.label(), other.label());
        let help = "give the lower number to the route that should be tried first";
        findings(route, Draft::new(route.span_of("priority"), message, help));
    }
}

/// Whether two routes with different names certainly have the same router. Templates of several environments may call
/// different routers the same.
fn are_of_one_router(resources: &Resources, one: &Resource, other: &Resource) -> bool {
    let names = |route: &Resource| {
        let router = route.owner.as_ref()?.whole()?.to_owned();
        Some((route.mesh.whole()?.to_owned(), router))
    };
    let is_one_environment = one.file.name == other.file.name
        || (one.presence, other.presence) == (Presence::Exported, Presence::Exported)
        || matches!((resources.owner(one), resources.owner(other)), (Some(a), Some(b)) if std::ptr::eq(a, b));
    let differ = matches!((one.name.whole(), other.name.whole()), (Some(a), Some(b)) if a != b);
    differ && is_one_environment && names(one).is_some() && names(one) == names(other)
}
