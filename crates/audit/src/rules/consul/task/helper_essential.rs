use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-helper-essential",
    summary: "whether the mesh's helpers beside an app are essential is a choice",
    severity: Severity::Info,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "if the helper stops, ECS stops the app's containers as well, and a service replaces the task",
    explanation: "\
The agent, the proxy and health-sync may be essential or not; neither Consul's documentation nor that of ECS demands one \
of them. Both have a price:\n\n\
- **Not essential**, as in the Terraform module: the app keeps running if a helper stops, for example because it needs too \
much memory. Nothing starts the helper again, so that a task without a proxy is cut off from the mesh until somebody \
deploys it again, and a task without health-sync keeps its last status in Consul.\n\
- **Essential**: ECS replaces a task whose helper stops. A helper that stops in all tasks at once, such as a proxy that Consul \
refuses, takes the app down with it.\n\n\
`essential` is true by default; say what you want. A `restartPolicy` on health-sync restarts it without either price. In a \
gateway, the proxy is the app and has to be essential, and mesh-init, which ends, must not be.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/architecture",
        "https://github.com/hashicorp/terraform-aws-consul-ecs/issues/325",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
    ],
    example: Some(example(Base::Client, "containerDefinitions[consul-client].essential", Some("true"))),
    check: Check::Task(check),
};

const fn example(base: Base, at: &'static str, fails: Option<&'static str>) -> Example {
    Example { base, given: &[], at, fails, repaired: Some("false") }
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let proxies = [consul.sidecar_proxy, consul.dataplane].map(|proxy| proxy.filter(|_| consul.is_service()));
    for helper in [consul.client, consul.health_sync].into_iter().chain(proxies).flatten() {
        if helper.is_essential() == Some(true) {
            let message = format!("{} is essential: if it stops, ECS stops the task", helper.label());
            let help = "ignore this rule if that is what you want; otherwise set essential to false";
            findings.add(Draft::new(helper.essential.span(), message, help).of(helper));
        }
    }
}
