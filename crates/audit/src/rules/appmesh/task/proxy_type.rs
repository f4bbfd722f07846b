use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-proxy-type",
    summary: "the proxy configuration has the type APPMESH",
    severity: Severity::Error,
    applies: Applies::AppMesh,
    is_fixable: true,
    effect: "ECS refuses to register the definition",
    explanation: "\
`APPMESH` is the only type of proxy configuration, and the default. It has to be in capitals.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ProxyConfiguration.html"],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "proxyConfiguration.type",
        fails: Some(r#""ENVOY""#),
        repaired: Some(r#""APPMESH""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(proxy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.proxy) else { return };
    let Some(kind) = proxy.kind.text().filter(|kind| *kind != "APPMESH") else { return };
    let message = format!("the proxy configuration has the type {kind}");
    findings
        .add(Draft::new(proxy.kind.span(), message, "set type to APPMESH").fix(Fix::set(&proxy.kind.place, "APPMESH")));
}
