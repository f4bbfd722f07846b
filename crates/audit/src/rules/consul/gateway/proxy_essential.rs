use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-gateway-proxy-essential",
    summary: "a gateway's proxy is essential",
    severity: Severity::Error,
    applies: Applies::ConsulGateway,
    is_fixable: true,
    effect: "ECS refuses a definition without an essential container, or keeps a gateway running whose proxy is gone",
    explanation: "\
In a gateway, the proxy is the app: `consul-dataplane`, or `sidecar-proxy` up to consul-ecs 0.6. If it stops, ECS has \
to stop and replace the task. In a service's task, the app's container is the essential one instead.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/architecture",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
    ],
    example: Some(Example {
        base: Base::ApiGateway,
        given: &[],
        at: "containerDefinitions[consul-dataplane].essential",
        fails: Some("false"),
        repaired: Some("true"),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(proxy) = subject.consul.as_ref().and_then(ConsulTask::proxy) else { return };
    if proxy.is_essential() == Some(false) {
        let essential = &proxy.essential;
        let message = format!("{} is not essential, but the task is a gateway", proxy.label());
        let draft = Draft::new(essential.span(), message, "set essential to true");
        findings.add(draft.of(proxy).fix(Fix::set(&essential.place, true)));
    }
}
