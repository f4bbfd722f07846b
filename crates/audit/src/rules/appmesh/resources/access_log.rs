use crate::{
    app_mesh::{ResourceKind, Resources},
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-access-log",
    summary: "access logs go to an absolute path",
    severity: Severity::Warning,
    applies: Applies::AppMeshResources,
    is_fixable: false,
    effect: "Envoy cannot open the file, or writes a file that is not collected",
    explanation: "\
Envoy writes access logs to a file in its container. `/dev/stdout` is the log driver of the container, which ECS can \
collect; a file at any other path has to be collected by another process. A relative path depends on the directory in \
which the image starts Envoy.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/envoy-logs.html",
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_nodes.html",
    ],
    example: Some(Example {
        base: Base::AppMeshResources,
        given: &[],
        at: "[virtualNode orders].virtualNode.spec.logging.accessLog.file.path",
        fails: Some(r#""stdout""#),
        repaired: Some(r#""/dev/stdout""#),
    }),
    check: Check::Resources(check),
};

fn check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for kind in [ResourceKind::VirtualNode, ResourceKind::VirtualGateway] {
        for resource in resources.of(kind) {
            let path = resource.spec("logging.accessLog.file.path");
            let Some((node, path)) = path.and_then(|node| Some((node, node.text()?))) else { continue };
            if !path.starts_with('/') {
                let message = format!("{} writes its access log to {path}", resource.label());
                findings(resource, Draft::new(node.place.span, message, "write it to /dev/stdout"));
            }
        }
    }
}
