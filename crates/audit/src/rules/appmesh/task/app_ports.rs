use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-app-ports",
    summary: "AppPorts lists the ports of the app",
    severity: Severity::Error,
    applies: Applies::AppMesh,
    is_fixable: false,
    effect: "ECS refuses the definition, or no incoming connection goes through Envoy",
    explanation: "\
`AppPorts` contains the ports of the app whose incoming connections are redirected to Envoy, separated by commas. ECS \
requires it.",
    sources: &[
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ProxyConfiguration.html",
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/getting-started-ecs.html",
    ],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "proxyConfiguration.properties[AppPorts]",
        fails: None,
        repaired: Some(r#"{ "name": "AppPorts", "value": "9080" }"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(proxy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.proxy) else { return };
    let (span, message) = match (proxy.property("AppPorts"), proxy.items("AppPorts")) {
        (Maybe::Absent, _) => (proxy.properties.place.span, "the property AppPorts is missing".to_owned()),
        (Maybe::Known(property), Some(items)) if items.is_empty() => {
            (property.value.span(), "AppPorts lists no port".to_owned())
        }
        (Maybe::Known(property), Some(items)) if proxy.ports("AppPorts").is_none() => {
            (property.value.span(), format!("AppPorts is {}, which is not a list of ports", items.join(",")))
        }
        _ => return,
    };
    findings.add(Draft::new(span, message, "set AppPorts to the ports that the app listens on, separated by commas"));
}
