use crate::{
    app_mesh::{ResourceKind, Resources},
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-backend-missing",
    summary: "the backends of a virtual node exist as virtual services",
    severity: Severity::Error,
    applies: Applies::AppMeshResources,
    is_fixable: false,
    effect: "Envoy gets no route to the backend, and the app's requests to it are dropped or leave the mesh",
    explanation: "\
The backends of a virtual node are the virtual services that its app calls, by their full names. The node's Envoy is \
configured for these only. A misspelled backend is a service that the app cannot reach: with the egress filter \
`DROP_ALL` not at all, otherwise only outside of the mesh.",
    sources: &["https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_nodes.html"],
    example: Some(Example {
        base: Base::AppMeshResources,
        given: &[],
        at: "[virtualNode orders].virtualNode.spec.backends",
        fails: Some(r#"[{ "virtualService": { "virtualServiceName": "stock.local" } }]"#),
        repaired: Some(r#"[{ "virtualService": { "virtualServiceName": "stock.shop.local" } }]"#),
    }),
    check: Check::Resources(check),
};

fn check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for (resource, mesh, reference) in resources.broken_references(ResourceKind::VirtualNode) {
        let kind = reference.kind.as_str();
        let message =
            format!("{} has as backend the {kind} {}, which does not exist", resource.label(), reference.name);
        let help = format!("use one of {}, or create it", resources.names(reference.kind, mesh));
        findings(resource, Draft::new(reference.node.place.span, message, help));
    }
}
