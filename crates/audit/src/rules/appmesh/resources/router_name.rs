use crate::{
    app_mesh::{ResourceKind, Resources},
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-router-name",
    summary: "the name of a virtual router is valid",
    severity: Severity::Error,
    applies: Applies::AppMeshResources,
    is_fixable: false,
    effect: "App Mesh refuses the virtual router",
    explanation: "\
The name of a virtual router has at most 255 letters, digits, hyphens and underscores.",
    sources: &["https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_routers.html"],
    example: Some(Example {
        base: Base::AppMeshResources,
        given: &[],
        at: "[router]",
        fails: Some(r#"{ "virtualRouter": { "meshName": "shop", "virtualRouterName": "orders.v2", "spec": {} } }"#),
        repaired: Some(r#"{ "virtualRouter": { "meshName": "shop", "virtualRouterName": "orders-v2", "spec": {} } }"#),
    }),
    check: Check::Resources(check),
};

fn check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for router in resources.of(ResourceKind::VirtualRouter) {
        let Some(name) = router.name.whole() else { continue };
        let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if name.chars().count() > 255 || !name.chars().all(is_legal) {
            let message = format!("{} has an invalid name", router.label());
            let help = "use at most 255 letters, digits, hyphens and underscores";
            findings(router, Draft::new(router.span, message, help));
        }
    }
}
