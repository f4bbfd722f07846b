use std::collections::BTreeSet;

use crate::{
    app_mesh::{Resource, ResourceKind, Resources},
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-node-protocol",
    summary: "virtual nodes have the protocol of their virtual router",
    severity: Severity::Error,
    applies: Applies::AppMeshResources,
    is_fixable: false,
    effect: "Envoy sends the requests in a protocol that the target does not support, and they fail",
    explanation: "\
A route forwards requests in the protocol of its virtual router. Its target nodes need a listener with that protocol. \
If the protocols differ, connections succeed but requests fail.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/routes.html",
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_nodes.html",
    ],
    example: Some(Example {
        base: Base::AppMeshResources,
        given: &[],
        at: "[virtualNode orders].virtualNode.spec.listeners[0].portMapping.protocol",
        fails: Some(r#""grpc""#),
        repaired: Some(r#""http""#),
    }),
    check: Check::Resources(check),
};

fn check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for router in resources.of(ResourceKind::VirtualRouter) {
        let Some(sent) = router.listeners().next().and_then(|it| it.get("protocol")?.text()) else { continue };
        for node in targets(resources, router, sent) {
            let protocols: Option<Vec<&str>> = node.listeners().map(|it| it.get("protocol")?.text()).collect();
            let Some(others) = protocols.filter(|it| !it.is_empty() && !it.contains(&sent)) else { continue };
            let (label, others) = (node.label(), others.join(" and "));
            let message = format!("{label} listens for {others}, but {} sends it {sent}", router.label());
            let help = format!("give {label} a listener of the protocol {sent}, or change the router and its routes");
            findings(node, Draft::new(node.span_of("listeners"), message, help));
        }
    }
}

/// The virtual nodes in a router's routes of this protocol, each once. Another rule reports routes of another protocol.
fn targets<'r>(resources: &'r Resources, router: &'r Resource, protocol: &str) -> Vec<&'r Resource> {
    let names: BTreeSet<&str> = resources
        .routes(router)
        .filter(|route| route.route().is_some_and(|(sent, _)| sent == protocol))
        .flat_map(Resource::weighted_targets)
        .filter_map(|target| target.get("virtualNode")?.text())
        .collect();
    let Some(mesh) = router.mesh.whole() else { return Vec::new() };
    let node = |name| resources.named(ResourceKind::VirtualNode, mesh, name, &router.file);
    names.into_iter().filter_map(node).collect()
}
