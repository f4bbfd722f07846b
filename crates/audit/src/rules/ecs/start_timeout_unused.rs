use crate::{
    definition::{Container, List},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "ecs-start-timeout-unused",
    summary: "a start timeout is set on a container that others wait for",
    severity: Severity::Info,
    applies: Applies::EveryTask,
    is_fixable: true,
    effect: "the timeout has no effect: the container waits for its dependencies without a limit",
    explanation: "\
`startTimeout` does not limit how long *this* container waits. It limits how long the containers that depend on this \
one wait for it to stop or to become healthy. It has no effect if no container waits for this one with `COMPLETE`, \
`SUCCESS` or `HEALTHY`. To limit how long a container waits, set the timeout on its dependency.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html"],
    example: Some(Example {
        base: Base::Plain,
        given: &[("containerDefinitions[report].startTimeout", "60")],
        at: "containerDefinitions[report].startTimeout",
        fails: Some("60"),
        repaired: None,
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let containers = &subject.definition.containers;
    for container in &containers.items {
        let (Some(timeout), Some(name)) = (container.start_timeout.known(), container.name.text()) else { continue };
        if !containers.is_complete || containers.items.iter().any(|other| may_wait(containers, other, name)) {
            continue;
        }
        let label = container.label();
        let message = format!(
            "no container waits for {label} to stop or to become healthy, so that its startTimeout of {timeout} has no effect"
        );
        let draft = Draft::new(container.start_timeout.span(), message, "set it on the dependency");
        findings.add(draft.of(container).fix(Fix::remove(&container.start_timeout.place)));
    }
}

/// Whether a container waits for the one called `name` with a condition that has a timeout. A dependency on an unknown
/// container counts too.
fn may_wait(containers: &List<Container>, container: &Container, name: &str) -> bool {
    let dependencies = &container.depends_on;
    let may_be = |text: Option<&str>| {
        text.is_none_or(|text| text == name || containers.lacks(|container| container.is_called(text)))
    };
    !dependencies.is_complete
        || dependencies.items.iter().any(|it| may_be(it.container.text()) && it.condition.text() != Some("START"))
}
