use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-dataplane-essential",
    summary: "beside an app, consul-dataplane is not essential",
    severity: Severity::Info,
    applies: Applies::ConsulDataplane,
    effect: "the end of the proxy ends the task, and ECS starts another one",
    explanation: "\
The Terraform module makes the app's containers essential and `consul-dataplane` not, so that the proxy's end alone does not stop \
the app; its check in Consul turns critical instead, and requests go to other instances. An essential proxy has its merits: a task \
without a working proxy is replaced. Whoever wants that leaves it and ignores this rule. A container is essential unless the \
definition says otherwise.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/architecture",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
    ],
    examples: &[
        Example {
            base: Base::Dataplane,
            given: &[],
            at: "containerDefinitions[consul-dataplane].essential",
            fails: Some("true"),
            repaired: Some("false"),
        },
        Example {
            base: Base::ControlPlane,
            given: &[],
            at: "containerDefinitions[consul-dataplane].essential",
            fails: None,
            repaired: Some("false"),
        },
    ],
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.is_service()) else { return };
    let Some(dataplane) = consul.dataplane.filter(|dataplane| dataplane.is_essential() == Some(true)) else { return };
    let message = format!("{} is essential", dataplane.label());
    let essential = &dataplane.essential;
    let draft = Draft::new(essential.span(), message, "set essential to false, unless you want it so");
    findings.add(draft.of(dataplane));
}
