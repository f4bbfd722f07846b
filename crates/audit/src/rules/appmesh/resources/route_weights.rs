use crate::{
    app_mesh::{ResourceKind, Resources},
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-route-weights",
    summary: "the weights of a route are 0 to 100 each and 1 to 100 together",
    severity: Severity::Error,
    applies: Applies::AppMeshResources,
    is_fixable: false,
    effect: "App Mesh refuses the route, or no target gets requests",
    explanation: "\
Each target of a route has a weight from 0 to 100, relative to the others. The sum of the weights is at most 100. If \
all are 0, no target gets any requests.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/routes.html",
        "https://docs.aws.amazon.com/app-mesh/latest/APIReference/API_WeightedTarget.html",
    ],
    example: Some(Example {
        base: Base::AppMeshResources,
        given: &[],
        at: "[route all].route.spec.httpRoute.action.weightedTargets",
        fails: Some(r#"[{ "virtualNode": "orders", "weight": 90 }, { "virtualNode": "stock", "weight": 20 }]"#),
        repaired: Some(r#"[{ "virtualNode": "orders", "weight": 80 }, { "virtualNode": "stock", "weight": 20 }]"#),
    }),
    check: Check::Resources(check),
};

fn check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for route in resources.of(ResourceKind::Route) {
        let targets = route.weighted_targets();
        let weights: Option<Vec<i64>> = targets.iter().map(|target| target.get("weight")?.number()).collect();
        let (Some(weights), Some(first)) = (weights, targets.first()) else { continue };
        let total: i64 = weights.iter().fold(0, |sum, weight| sum.saturating_add(*weight));
        let message = if let Some(weight) = weights.iter().find(|weight| !(0..=100).contains(*weight)) {
            format!("{} has a target with the weight {weight}", route.label())
        } else if !(1..=100).contains(&total) {
            format!("the sum of the weights of {} is {total}", route.label())
        } else {
            continue;
        };
        let span = first.get("weight").map_or(route.span, |weight| weight.place.span);
        findings(route, Draft::new(span, message, "use weights of 0 to 100 with a sum of 1 to 100"));
    }
}
