use crate::{
    definition::{Container, Maybe},
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Subject, consul_ecs_version},
};
use mesh::ecs_config::CONFIG_VARIABLE;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-config-missing",
    summary: "every container of consul-ecs has its configuration in CONSUL_ECS_CONFIG_JSON",
    severity: Severity::Error,
    applies: Applies::ConsulAndController,
    is_fixable: false,
    effect: "the container ends at once with \"CONSUL_ECS_CONFIG_JSON isn't populated\", and the task never joins the mesh, or never runs the controller",
    explanation: "\
mesh-init, the control plane, health-sync and the controller read their settings from one environment variable, \
`CONSUL_ECS_CONFIG_JSON`: the addresses of the Consul servers, and in tasks of the mesh the service and its login. Each of \
a task's containers needs it, with the same content. Before 0.3, the commands had flags instead; a `mesh-init` with flags is \
not reported.",
    sources: &["https://developer.hashicorp.com/consul/docs/reference/ecs"],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "containerDefinitions[consul-ecs-mesh-init].environment[CONSUL_ECS_CONFIG_JSON].name",
        fails: Some(r#""CONSUL_ECS_CONFIG""#),
        repaired: Some(r#""CONSUL_ECS_CONFIG_JSON""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul_ecs) = subject.consul_ecs().filter(|program| program.configuration.is_some()) else { return };
    for container in consul_ecs.containers.into_iter().filter(|container| reads_a_configuration(container)) {
        let is_absent = matches!(container.variable(CONFIG_VARIABLE), Maybe::Absent)
            && matches!(container.secret(CONFIG_VARIABLE), Maybe::Absent);
        if is_absent {
            let message = format!("{} has no environment variable {CONFIG_VARIABLE}", container.label());
            let help = format!("add {CONFIG_VARIABLE} with the same JSON in every container of consul-ecs");
            findings.add(Draft::new(container.environment.place.span, message, help).of(container));
        }
    }
}

/// Whether its release has a configuration, as far as that is known.
fn reads_a_configuration(container: &Container) -> bool {
    let has_flags =
        container.command.items.iter().any(|word| word.known().is_some_and(|word| word.head().starts_with('-')));
    let is_older = consul_ecs_version(container).is_some_and(|version| version.minor < 3);
    !has_flags && !is_older
}
