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
    summary: "a virtual gateway is a task of its own",
    severity: Severity::Error,
    applies: Applies::AppMesh,
    effect: "the traffic of the app goes to an Envoy that serves a gateway, which knows nothing of the app",
    explanation: "\
The Envoy of a virtual gateway takes requests from outside on its own listeners and passes them into the mesh. It has \
no proxy configuration, as there is no app whose traffic could be redirected, and an app that runs beside it is not in \
the mesh. An app needs an Envoy of its own, which stands for a virtual node.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_gateways.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ProxyConfiguration.html",
    ],
    examples: &[
        Example {
            base: Base::AppMesh,
            given: &[],
            at: "containerDefinitions[envoy].environment[APPMESH_RESOURCE_ARN].value",
            fails: Some(r#""mesh/shop/virtualGateway/ingress""#),
            repaired: Some(r#""mesh/shop/virtualNode/orders""#),
        },
        Example {
            base: Base::AppMeshGateway,
            given: &[],
            at: "containerDefinitions[web]",
            fails: Some(
                r#"{ "name": "web", "image": "example/web:1.4.2", "portMappings": [{ "containerPort": 9090 }] }"#,
            ),
            repaired: Some(
                r#"{ "name": "web", "image": "public.ecr.aws/aws-observability/aws-for-fluent-bit:stable", "portMappings": [{ "containerPort": 24224 }] }"#,
            ),
        },
    ],
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
        let message = format!("{label} stands for a virtual gateway, but traffic is redirected to it");
        let help = "name a virtual node, or take the proxyConfiguration and the app away";
        let draft = Draft::new(variable.value.span(), message, help).of(envoy);
        findings.add(draft.note(subject.definition.proxy.span(), "redirects the traffic of the task"));
        return;
    }
    let has_port = |app: &&&Container| {
        app.is_essential() == Some(true) && !app.port_mappings.items.is_empty() && !is_observer(app)
    };
    if let Some(app) = mesh.apps.iter().find(has_port) {
        let message = format!("{} runs beside the virtual gateway {label}, outside of the mesh", app.label());
        let help = "give the app a task of its own, with an Envoy that stands for its virtual node";
        findings.add(Draft::new(app.span(), message, help).of(app));
    }
}
