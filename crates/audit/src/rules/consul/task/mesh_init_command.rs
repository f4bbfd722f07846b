use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-mesh-init-command",
    summary: "consul-ecs-mesh-init runs mesh-init",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "the task's service is never registered, and the proxy has no configuration",
    explanation: "\
The image `consul-ecs` contains one program with several commands. Without a command, it prints its help and fails, \
and another command does the work of another container. `mesh-init` registers the service and its proxy in Consul, \
writes the proxy's configuration to the shared volume and stops.",
    sources: &["https://developer.hashicorp.com/consul/docs/ecs/architecture"],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "containerDefinitions[consul-ecs-mesh-init].command",
        fails: Some(r#"["health-sync"]"#),
        repaired: Some(r#"["mesh-init"]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mesh_init) = subject.consul.as_ref().and_then(|consul| consul.mesh_init) else { return };
    let Some(command) = mesh_init.command.texts() else { return };
    if command.first() == Some(&"mesh-init") {
        return;
    }
    let message = if command.is_empty() {
        format!("{} has no command", mesh_init.label())
    } else {
        format!("{} runs {}", mesh_init.label(), mesh_init.command.shown_program())
    };
    let place = &mesh_init.command.place;
    let fix = Fix::set(place, vec!["mesh-init"]);
    findings.add(Draft::new(place.span, message, "set its command to [\"mesh-init\"]").of(mesh_init).fix(fix));
}
