use serde_json::json;

use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-proxy-ports",
    summary: "traffic is redirected to the ports 15000 and 15001",
    severity: Severity::Error,
    applies: Applies::AppMesh,
    is_fixable: true,
    effect: "traffic is redirected to a port on which Envoy does not listen, and every connection of the app fails",
    explanation: "\
App Mesh configures Envoy to accept incoming connections on port 15000 and outgoing connections of the app on port \
15001. ECS redirects to `ProxyIngressPort` and `ProxyEgressPort`, which have to be the same.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/getting-started-ecs.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ProxyConfiguration.html",
    ],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "proxyConfiguration.properties[ProxyIngressPort].value",
        fails: Some(r#""15001""#),
        repaired: Some(r#""15000""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(proxy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.proxy) else { return };
    for (name, port) in [("ProxyIngressPort", "15000"), ("ProxyEgressPort", "15001")] {
        let (place, message, fix) = match proxy.property(name) {
            Maybe::Known(property) => {
                let Some(other) = property.value.text().filter(|value| value.trim() != port) else { continue };
                let place = &property.value.place;
                (place, format!("{name} is {other}"), Fix::set(place, port))
            }
            Maybe::Absent => {
                let fix = Fix::append(&proxy.properties, json!({ "name": name, "value": port }));
                (&proxy.properties.place, format!("the property {name} is missing"), fix)
            }
            Maybe::Unknown => continue,
        };
        findings.add(Draft::new(place.span, message, format!("set {name} to {port}")).fix(fix));
    }
}
