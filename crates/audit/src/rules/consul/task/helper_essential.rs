use crate::{
    example::{Base, Example, FLAGS},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-helper-essential",
    summary: "what is essential is the app, and not the mesh's helpers beside it",
    severity: Severity::Warning,
    applies: Applies::Consul,
    effect: "the end of a helper ends the app, and in a task that stops, helpers that end early take the proxy away from the app",
    explanation: "\
When an essential container ends, ECS stops the others. The agent, health-sync and the sidecar proxy are there for the app: \
none of them should decide how long it lives. It matters most at the end of a task: each helper ends in its own time, the proxy \
last, so that the app can finish its requests. `essential` is true where it is left out. A gateway's proxy is different: there \
the proxy is what the task is for.",
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
