use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-mesh-init-essential",
    summary: "consul-ecs-mesh-init is not essential",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "ECS refuses to register the definition; if no container waits for mesh-init's success, every task stops as soon as mesh-init does",
    explanation: "\
mesh-init does its work and stops. When an essential container stops, ECS stops the whole task. ECS therefore refuses \
an essential container whose success others wait for. `essential` is true by default, so that it has to be set to \
false.",
    sources: &[
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDependency.html",
        "https://developer.hashicorp.com/consul/docs/v1.13.x/ecs/manual/install",
    ],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-ecs-mesh-init].essential",
        fails: None,
        repaired: Some("false"),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mesh_init) = subject.consul.as_ref().and_then(|consul| consul.mesh_init) else { return };
    if mesh_init.is_essential() != Some(true) {
        return;
    }
    let essential = &mesh_init.essential;
    let message = if essential.is_absent() {
        format!("{} is essential by default", mesh_init.label())
    } else {
        format!("{} is essential", mesh_init.label())
    };
    let fix = Fix::set(&essential.place, false);
    findings.add(Draft::new(essential.span(), message, "set essential to false").of(mesh_init).fix(fix));
}
