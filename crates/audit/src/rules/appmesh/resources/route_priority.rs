use crate::{
    app_mesh::{ResourceKind, Resources},
    document::Node,
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-route-priority",
    summary: "the priority of a route is 0 to 1000",
    severity: Severity::Error,
    applies: Applies::AppMeshResources,
    is_fixable: false,
    effect: "App Mesh refuses the route",
    explanation: "\
Routes are tried in the order of their priority, from 0 to 1000. App Mesh refuses other numbers.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/routes.html",
        "https://docs.aws.amazon.com/app-mesh/latest/APIReference/API_RouteSpec.html",
    ],
    example: Some(Example {
        base: Base::AppMeshResources,
        given: &[],
        at: "[route all].route.spec.priority",
        fails: Some("1001"),
        repaired: Some("1000"),
    }),
    check: Check::Resources(check),
};

fn check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for route in resources.of(ResourceKind::Route) {
        let priority = route.spec("priority").and_then(Node::number);
        let Some(priority) = priority.filter(|priority| !(0..=1000).contains(priority)) else { continue };
        let message = format!("{} has the priority {priority}", route.label());
        let help = "choose a priority from 0 (first) to 1000 (last)";
        findings(route, Draft::new(route.span_of("priority"), message, help));
    }
}
