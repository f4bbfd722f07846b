use crate::{
    definition::Container,
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-proxy-container",
    summary: "the proxy configuration names the Envoy container",
    severity: Severity::Error,
    applies: Applies::AppMesh,
    is_fixable: true,
    effect: "ECS refuses the definition, or redirects the traffic to a container that is not a proxy",
    explanation: "\
`containerName` of the proxy configuration is the name of the proxy's container. ECS starts it before it redirects the \
traffic of the others.",
    sources: &[
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ProxyConfiguration.html",
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/getting-started-ecs.html",
    ],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "proxyConfiguration.containerName",
        fails: Some(r#""proxy""#),
        repaired: Some(r#""envoy""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mesh) = subject.app_mesh.as_ref() else { return };
    let Some(proxy) = mesh.proxy.filter(|proxy| !proxy.container.is_unknown()) else { return };
    let name = proxy.container.text();
    if name.is_none() && !proxy.container.is_absent() {
        return;
    }
    let containers = &subject.definition.containers;
    let envoy = mesh.envoy.filter(|envoy| !name.is_some_and(|name| envoy.name.may_be(name)));
    let message = match (name, envoy) {
        (None, _) => "the proxy configuration has no containerName".to_owned(),
        (Some(name), _) if containers.lacks(|it: &Container| it.name.may_be(name)) => {
            format!("the proxy configuration refers to {name}, which does not exist")
        }
        (Some(name), Some(_)) => format!("the proxy configuration refers to {name}, which is not the Envoy container"),
        (Some(_), None) => return,
    };
    let envoy = envoy.and_then(|envoy| envoy.name.text());
    let help = envoy
        .map_or("set containerName to the Envoy container".to_owned(), |envoy| format!("set containerName to {envoy}"));
    let fix = envoy.and_then(|envoy| Fix::set(&proxy.container.place, envoy));
    findings.add(Draft::new(proxy.container.span(), message, help).fix(fix));
}
