use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-health-sync-command",
    summary: "consul-ecs-health-sync runs health-sync",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "the service's checks in Consul stay critical, and it gets no traffic",
    explanation: "\
The image `consul-ecs` contains one program with several commands. Without a command, it prints its help and stops; \
with `mesh-init`, it registers the service a second time and stops. Only `health-sync` keeps running and copies the \
containers' health to Consul.",
    sources: &["https://developer.hashicorp.com/consul/docs/ecs/architecture"],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-ecs-health-sync].command",
        fails: None,
        repaired: Some(r#"["health-sync"]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(health_sync) = subject.consul.as_ref().and_then(|consul| consul.health_sync) else { return };
    let Some(command) = health_sync.command.texts() else { return };
    if command.first() == Some(&"health-sync") {
        return;
    }
    let message = if command.is_empty() {
        format!("{} has no command", health_sync.label())
    } else {
        format!("{} runs {}", health_sync.label(), health_sync.command.shown_program())
    };
    let place = &health_sync.command.place;
    let fix = Fix::set(place, vec!["health-sync"]);
    findings.add(Draft::new(place.span, message, "set its command to [\"health-sync\"]").of(health_sync).fix(fix));
}
