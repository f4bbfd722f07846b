use crate::{
    app_mesh::ResourceKind,
    definition::Container,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Subject, is_observer},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-gateway-mixed",
    summary: "a virtual gateway runs in a separate task",
    severity: Severity::Error,
    applies: Applies::AppMesh,
    is_fixable: false,
    effect: "the traffic of the app is redirected to the Envoy of a gateway, which has no configuration for the app",
    explanation: "\
The Envoy of a virtual gateway accepts requests from outside on its own listeners and forwards them into the mesh. It \
has no proxy configuration, because there is no app whose traffic could be redirected, and an app in the same task is \
not in the mesh. An app needs a separate Envoy for its virtual node.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_gateways.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ProxyConfiguration.html",
    ],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "containerDefinitions[envoy].environment[APPMESH_RESOURCE_ARN].value",
        fails: Some(r#""mesh/shop/virtualGateway/ingress""#),
        repaired: Some(r#""mesh/shop/virtualNode/orders""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mesh) = subject.app_mesh.as_ref() else { return };
    let Some((envoy, variable)) = mesh.envoy.zip(mesh.resource_variable()) else { return };
    if mesh.resource().is_none_or(|resource| resource.kind != ResourceKind::VirtualGateway) {
        return;
    }
    let label = envoy.label();
    if mesh.proxy.is_some() {
        let message = format!("{label} represents a virtual gateway, but traffic is redirected to it");
        let help = "set a virtual node, or remove the proxyConfiguration and the app";
        let draft = Draft::new(variable.value.span(), message, help).of(envoy);
        findings.add(draft.note(subject.definition.proxy.span(), "redirects the traffic of the task"));
        return;
    }
    let has_port = |app: &&&Container| {
        app.is_essential() == Some(true) && !app.port_mappings.items.is_empty() && !is_observer(app)
    };
    if let Some(app) = mesh.apps.iter().find(has_port) {
        let message = format!("{} runs beside the virtual gateway {label}, outside of the mesh", app.label());
        let help = "move the app to a separate task, with an Envoy for its virtual node";
        findings.add(Draft::new(app.span(), message, help).of(app));
    }
}
