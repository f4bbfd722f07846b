use crate::{
    app_mesh::{ResourceKind, Resources},
    document::Value,
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

/// The maximum number of headers.
const MOST: usize = 10;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-route-headers",
    summary: "a route matches by at most 10 headers",
    severity: Severity::Error,
    applies: Applies::AppMeshResources,
    is_fixable: false,
    effect: "App Mesh refuses the route",
    explanation: "\
A route can match the path, the method, the scheme and up to ten headers of a request (or metadata, with gRPC). More \
headers need several routes.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/routes.html",
        "https://docs.aws.amazon.com/app-mesh/latest/APIReference/API_HttpRouteMatch.html",
    ],
    example: Some(Example {
        base: Base::AppMeshResources,
        given: &[],
        at: "[route all].route.spec.httpRoute.match.headers",
        fails: Some(
            r#"[{ "name": "x-0" }, { "name": "x-1" }, { "name": "x-2" }, { "name": "x-3" }, { "name": "x-4" }, { "name": "x-5" }, { "name": "x-6" }, { "name": "x-7" }, { "name": "x-8" }, { "name": "x-9" }, { "name": "x-10" }]"#,
        ),
        repaired: Some(
            r#"[{ "name": "x-0" }, { "name": "x-1" }, { "name": "x-2" }, { "name": "x-3" }, { "name": "x-4" }, { "name": "x-5" }, { "name": "x-6" }, { "name": "x-7" }, { "name": "x-8" }, { "name": "x-9" }]"#,
        ),
    }),
    check: Check::Resources(check),
};

fn check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for route in resources.of(ResourceKind::Route) {
        let matched = route.route().and_then(|(_, route)| route.get("match"));
        let Some(headers) = matched.and_then(|it| it.get("headers").or_else(|| it.get("metadata"))) else { continue };
        let count = headers.items().iter().filter(|item| !matches!(item.value, Value::Unknown)).count();
        if count > MOST {
            let message = format!("{} matches by {count} headers", route.label());
            let help = format!("match by at most {MOST}, or split the route");
            findings(route, Draft::new(headers.place.span, message, help));
        }
    }
}
