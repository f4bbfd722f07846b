use crate::{
    app_mesh::{ResourceKind, Resources},
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-service-discovery",
    summary: "a virtual node with a listener has service discovery",
    severity: Severity::Error,
    applies: Applies::AppMeshResources,
    is_fixable: false,
    effect: "other Envoys know no address of the node, and requests to it fail with 503",
    explanation: "\
Other Envoys find the tasks of a virtual node by its service discovery: a DNS name, or a service of AWS Cloud Map. \
Only a node without a listener, which gets no requests, needs none.",
    sources: &["https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_nodes.html"],
    example: Some(Example {
        base: Base::AppMeshResources,
        given: &[],
        at: "[virtualNode stock].virtualNode.spec.serviceDiscovery",
        fails: None,
        repaired: Some(r#"{ "awsCloudMap": { "namespaceName": "shop.local", "serviceName": "stock" } }"#),
    }),
    check: Check::Resources(check),
};

fn check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for node in resources.of(ResourceKind::VirtualNode) {
        if node.listeners().next().is_some() && node.spec("serviceDiscovery").is_none() {
            let message = format!("{} has a listener, but no service discovery", node.label());
            let help = "add serviceDiscovery with the DNS name or the Cloud Map service of the ECS service";
            findings(node, Draft::new(node.span, message, help));
        }
    }
}
