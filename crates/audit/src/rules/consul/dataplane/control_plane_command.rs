use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-control-plane-command",
    summary: "consul-ecs-control-plane runs control-plane",
    severity: Severity::Error,
    applies: Applies::ConsulDataplane,
    is_fixable: true,
    effect: "the service is never registered, and Consul Dataplane never gets its configuration",
    explanation: "\
In consul-ecs 0.7 one long-running command, `control-plane`, does what `mesh-init` and `health-sync` do in the other releases: it \
registers the service, writes Consul Dataplane's configuration, keeps the checks in Consul up to date and deregisters the service \
in the end. The commands `mesh-init` and `health-sync` do not exist in 0.7.",
    sources: &["https://developer.hashicorp.com/consul/docs/ecs/upgrade-to-dataplanes"],
    example: Some(Example {
        base: Base::ControlPlane,
        given: &[],
        at: "containerDefinitions[consul-ecs-control-plane].command",
        fails: Some(r#"["mesh-init"]"#),
        repaired: Some(r#"["control-plane"]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(control_plane) = subject.consul.as_ref().and_then(|consul| consul.control_plane) else { return };
    let Some(command) = control_plane.command.texts() else { return };
    if command.first() == Some(&"control-plane") {
        return;
    }
    let message = if command.is_empty() {
        format!("{} has no command", control_plane.label())
    } else {
        format!("{} runs {}", control_plane.label(), control_plane.command.shown_program())
    };
    let place = &control_plane.command.place;
    let fix = Fix::set(place, vec!["control-plane"]);
    findings.add(Draft::new(place.span, message, "set its command to [\"control-plane\"]").of(control_plane).fix(fix));
}
