use crate::{
    example::{Base, Example},
    finding::{Findings, Severity},
    rule::{Applies, Check, Rule},
    rules::awsvpc::other_network_mode,
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-network-mode",
    summary: "the network mode is awsvpc",
    severity: Severity::Error,
    applies: Applies::AppMesh,
    is_fixable: true,
    effect: "ECS refuses the definition: a proxy configuration works in awsvpc mode only",
    explanation: "\
App Mesh redirects the traffic of a task in the network namespace that its containers share. Only with `awsvpc` does a task have a separate namespace and address. A virtual gateway redirects nothing and may run in other modes.",
    sources: &[
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ProxyConfiguration.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-networking.html",
    ],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "networkMode",
        fails: Some(r#""bridge""#),
        repaired: Some(r#""awsvpc""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if subject.app_mesh.as_ref().and_then(|mesh| mesh.proxy).is_none() {
        return;
    }
    if let Some(draft) = other_network_mode(subject.definition) {
        findings.add(draft);
    }
}
