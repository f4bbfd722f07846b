use crate::{
    app_mesh::ResourceKind,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-proxy-configuration",
    summary: "the task of a virtual node has a proxy configuration",
    severity: Severity::Error,
    applies: Applies::AppMesh,
    is_fixable: false,
    effect: "no traffic is redirected to Envoy, so that the app bypasses the mesh in both directions",
    explanation: "\
The traffic of a task goes through Envoy only if ECS redirects it, which it does for a definition with a \
`proxyConfiguration`. Without one, the task runs and may be healthy, but routes, retries, TLS and metrics of the mesh \
do not apply to it. Only the Envoy of a virtual gateway, to which clients connect directly, needs none.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/getting-started-ecs.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ProxyConfiguration.html",
    ],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "proxyConfiguration",
        fails: None,
        repaired: Some(
            r#"{ "type": "APPMESH", "containerName": "envoy", "properties": [{ "name": "IgnoredUID", "value": "1337" }, { "name": "ProxyIngressPort", "value": "15000" }, { "name": "ProxyEgressPort", "value": "15001" }, { "name": "AppPorts", "value": "9080" }, { "name": "EgressIgnoredIPs", "value": "169.254.170.2,169.254.169.254" }] }"#,
        ),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mesh) = subject.app_mesh.as_ref().filter(|_| subject.definition.proxy.is_absent()) else { return };
    let (Some(envoy), Some(resource)) = (mesh.envoy, mesh.resource()) else { return };
    if resource.kind == ResourceKind::VirtualNode {
        let message = format!(
            "{} represents the virtual node {}, but there is no proxy configuration",
            envoy.label(),
            resource.name
        );
        let help = format!("add a proxyConfiguration with containerName {} and the app's ports", envoy.label());
        findings.add(Draft::new(envoy.span(), message, help).of(envoy));
    }
}
