use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

/// All valid properties.
const PROPERTIES: [&str; 7] = [
    "IgnoredUID",
    "IgnoredGID",
    "AppPorts",
    "ProxyIngressPort",
    "ProxyEgressPort",
    "EgressIgnoredPorts",
    "EgressIgnoredIPs",
];

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-proxy-property",
    summary: "the proxy configuration has known properties only",
    severity: Severity::Error,
    applies: Applies::AppMesh,
    is_fixable: true,
    effect: "the property is refused or has no effect, and the intended one is missing",
    explanation: "\
The names of the properties are `IgnoredUID`, `IgnoredGID`, `AppPorts`, `ProxyIngressPort`, `ProxyEgressPort`, \
`EgressIgnoredPorts` and `EgressIgnoredIPs`. They are case-sensitive.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ProxyConfiguration.html"],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "proxyConfiguration.properties[AppPorts].name",
        fails: Some(r#""appPorts""#),
        repaired: Some(r#""AppPorts""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(proxy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.proxy) else { return };
    for property in &proxy.properties.items {
        let Some(key) = property.key.text().filter(|key| !PROPERTIES.contains(key)) else { continue };
        let meant = PROPERTIES.iter().find(|known| known.eq_ignore_ascii_case(key));
        let message = format!("the proxy configuration has the unknown property {key}");
        let help = meant.map_or("remove it".to_owned(), |meant| format!("write {meant}"));
        let fix = meant.and_then(|meant| Fix::set(&property.key.place, *meant));
        findings.add(Draft::new(property.key.span(), message, help).fix(fix));
    }
}
