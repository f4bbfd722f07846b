use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-egress-ignored-ports",
    summary: "EgressIgnoredPorts is a list of ports",
    severity: Severity::Error,
    applies: Applies::AppMesh,
    is_fixable: false,
    effect: "the redirection cannot be set up, and the task fails to start",
    explanation: "\
`EgressIgnoredPorts` contains the destination ports of connections that bypass Envoy, separated by commas, such as \
`22` or `5432,6379`. It may be empty. Names of services and ranges are invalid.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ProxyConfiguration.html"],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "proxyConfiguration.properties[EgressIgnoredPorts]",
        fails: Some(r#"{ "name": "EgressIgnoredPorts", "value": "ssh" }"#),
        repaired: Some(r#"{ "name": "EgressIgnoredPorts", "value": "22,5432" }"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(proxy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.proxy) else { return };
    let Maybe::Known(property) = proxy.property("EgressIgnoredPorts") else { return };
    let Some(items) = proxy.items("EgressIgnoredPorts") else { return };
    if proxy.ports("EgressIgnoredPorts").is_none() {
        let message = format!("EgressIgnoredPorts is {}, which is not a list of ports", items.join(","));
        findings.add(Draft::new(property.value.span(), message, "use ports from 1 to 65535, separated by commas"));
    }
}
