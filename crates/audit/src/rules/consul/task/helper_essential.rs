use crate::{
    example::{Base, Example, FLAGS},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-helper-essential",
    summary: "the mesh's helpers beside an app are not essential",
    severity: Severity::Warning,
    applies: Applies::Consul,
    effect: "if a helper stops, ECS stops the app, and when a task stops, the proxy may stop before the app",
    explanation: "\
When an essential container stops, ECS stops the others. The agent, health-sync and the sidecar proxy exist for the \
app: the task should not stop because one of them does. When a task stops, each helper stops at a different time, the \
proxy last, so that the app can complete its requests. `essential` is true by default. In a gateway, the proxy is the \
app and has to be essential.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/architecture",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
    ],
    examples: &[
        Example {
            base: Base::Client,
            given: &[],
            at: "containerDefinitions[consul-client].essential",
            fails: Some("true"),
            repaired: Some("false"),
        },
        Example {
            base: Base::Client,
            given: &[],
            at: "containerDefinitions[sidecar-proxy].essential",
            fails: None,
            repaired: Some("false"),
        },
        Example {
            base: Base::Client,
            given: &[],
            at: "containerDefinitions[consul-ecs-health-sync].essential",
            fails: Some("true"),
            repaired: Some("false"),
        },
        Example {
            base: Base::Dataplane,
            given: &[],
            at: "containerDefinitions[consul-ecs-health-sync].essential",
            fails: None,
            repaired: Some("false"),
        },
        Example {
            base: Base::Client,
            given: FLAGS,
            at: "containerDefinitions[sidecar-proxy].essential",
            fails: Some("true"),
            repaired: Some("false"),
        },
    ],
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let sidecar = consul.sidecar_proxy.filter(|_| consul.is_service());
    for helper in [consul.client, sidecar, consul.health_sync].into_iter().flatten() {
        if helper.is_essential() == Some(true) {
            let essential = &helper.essential;
            let message = format!("{} is essential", helper.label());
            let help = "set essential to false";
            let fix = Fix::set(&essential.place, false);
            findings.add(Draft::new(essential.span(), message, help).of(helper).fix(fix));
        }
    }
}
