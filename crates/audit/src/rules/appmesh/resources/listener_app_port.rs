use crate::{
    app_mesh::{ResourceKind, Resources},
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-listener-app-port",
    summary: "a virtual node listens on a port of its app",
    severity: Severity::Error,
    applies: Applies::AppMeshResources,
    is_fixable: false,
    effect: "the port is not redirected to Envoy, and no app listens on it, so that requests to the node fail",
    explanation: "\
The listener of a virtual node has the port of the app: other Envoys connect to it, ECS redirects it to the Envoy of \
the task because it is one of `AppPorts`, and that Envoy forwards the request to the same port of the app. If the port \
is not in `AppPorts` of the definition whose Envoy represents the node, requests do not reach the app.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_nodes.html",
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/getting-started-ecs.html",
    ],
    example: Some(Example {
        base: Base::AppMeshResources,
        given: &[("[definition]", include_str!("../../../bases/app-mesh.json"))],
        at: "[virtualNode orders].virtualNode.spec.listeners[0].portMapping.port",
        fails: Some("8080"),
        repaired: Some("9080"),
    }),
    check: Check::Resources(check),
};

fn check(resources: &Resources, subjects: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for subject in subjects {
        let Some(mesh) = subject.app_mesh.as_ref() else { continue };
        let node = mesh.resource().filter(|resource| resource.kind == ResourceKind::VirtualNode);
        let (Some(proxy), Some(resource)) = (mesh.proxy, node) else { continue };
        let Some(ports) = proxy.ports("AppPorts").filter(|ports| !ports.is_empty()) else { continue };
        let file = &subject.definition.file;
        let Some(node) = resources.named(resource.kind, resource.mesh, resource.name, file) else { continue };
        for listener in node.listeners().filter_map(|mapping| mapping.get("port")) {
            let Some(port) = listener.number().filter(|port| !ports.iter().any(|it| i64::from(*it) == *port)) else {
                continue;
            };
            let listed: Vec<String> = ports.iter().map(u16::to_string).collect();
            let (definition, listed) = (subject.definition.label(), listed.join(", "));
            let message = format!("{} listens on {port}, but AppPorts of {definition} are {listed}", node.label());
            let help = format!("let it listen on one of {listed}, or add {port} to AppPorts and the app");
            findings(node, Draft::new(listener.place.span, message, help));
        }
    }
}
