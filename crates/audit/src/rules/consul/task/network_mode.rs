use crate::{
    example::{Base, Example},
    finding::{Findings, Severity},
    rule::{Applies, Check, Rule},
    rules::awsvpc::other_network_mode,
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-network-mode",
    summary: "the network mode is awsvpc",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "the containers of the task do not share 127.0.0.1, so that neither the app nor the health checks reach the proxy",
    explanation: "\
Consul on ECS supports the network mode `awsvpc` only. It gives each task a separate network interface: the address \
that is registered in Consul, and a loopback interface that the app and its proxy share. In `bridge` mode, which is \
the default on EC2, each container has a separate loopback interface, and the app cannot reach its upstreams; in \
`host` mode, two tasks on one instance need the same ports for their proxies.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/tech-specs",
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-networking.html",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "networkMode",
        fails: Some(r#""bridge""#),
        repaired: Some(r#""awsvpc""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if let Some(draft) = other_network_mode(subject.definition) {
        findings.add(draft);
    }
}
