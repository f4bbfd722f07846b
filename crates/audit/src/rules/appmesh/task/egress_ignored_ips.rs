use serde_json::json;

use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

/// The endpoint of task metadata and credentials, and the one of instance metadata.
const ENDPOINTS: [&str; 2] = ["169.254.170.2", "169.254.169.254"];

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-egress-ignored-ips",
    summary: "traffic to the metadata endpoints is not redirected",
    severity: Severity::Error,
    applies: Applies::AppMesh,
    is_fixable: true,
    effect: "Envoy and the app get no credentials and no task metadata, and Envoy cannot fetch its configuration",
    explanation: "\
169.254.170.2 is the endpoint of the task role's credentials and the task metadata, 169.254.169.254 is the metadata \
service of the instance. Neither is part of the mesh: Envoy cannot forward connections to them. Both have to be in \
`EgressIgnoredIPs`.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/getting-started-ecs.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ProxyConfiguration.html",
    ],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "proxyConfiguration.properties[EgressIgnoredIPs]",
        fails: None,
        repaired: Some(r#"{ "name": "EgressIgnoredIPs", "value": "169.254.170.2,169.254.169.254" }"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(proxy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.proxy) else { return };
    let property = proxy.property("EgressIgnoredIPs");
    let (listed, span) = match (&property, proxy.items("EgressIgnoredIPs")) {
        (Maybe::Known(property), Some(items)) => (items, property.value.span()),
        (Maybe::Absent, _) => (Vec::new(), proxy.properties.place.span),
        _ => return,
    };
    // A range may contain them.
    let missing: Vec<&str> = ENDPOINTS.into_iter().filter(|endpoint| !listed.contains(endpoint)).collect();
    if missing.is_empty() || listed.iter().any(|item| item.contains('/')) {
        return;
    }
    let all: Vec<&str> = listed.into_iter().chain(missing.iter().copied()).collect();
    let all = all.join(",");
    let fix = match property {
        Maybe::Known(property) => Fix::set(&property.value.place, all.as_str()),
        _ => Fix::append(&proxy.properties, json!({ "name": "EgressIgnoredIPs", "value": all })),
    };
    let message = format!("EgressIgnoredIPs lacks {}", missing.join(" and "));
    findings.add(Draft::new(span, message, format!("set EgressIgnoredIPs to {all}")).fix(fix));
}
