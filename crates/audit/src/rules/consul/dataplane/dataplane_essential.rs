use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-dataplane-essential",
    summary: "with an app, consul-dataplane is not essential",
    severity: Severity::Info,
    applies: Applies::ConsulDataplane,
    effect: "if the proxy stops, ECS stops the task and starts another one",
    explanation: "\
The Terraform module makes the app's containers essential and `consul-dataplane` not, so that the app keeps running if \
the proxy stops; the proxy's check in Consul becomes critical, and requests go to other instances. With an essential \
proxy, ECS replaces a task without a working proxy. If you want that, ignore this rule for the task. A container is \
essential unless the definition says otherwise.",
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
    let draft = Draft::new(
        essential.span(),
        message,
        "set essential to false, or ignore this rule if you want the task to stop",
    );
    findings.add(draft.of(dataplane));
}
