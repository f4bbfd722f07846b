use crate::{
    definition::Container,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "ecs-dependency-essential",
    summary: "containers wait for the end of non-essential containers only",
    severity: Severity::Error,
    applies: Applies::EveryTask,
    is_fixable: false,
    effect: "ECS refuses to register the definition, because the task stops when an essential container stops",
    explanation: "\
`COMPLETE` and `SUCCESS` wait until a container has stopped. When an essential container stops, ECS stops the task, so \
that no other container could start afterwards: ECS accepts the two conditions only for containers with `essential: \
false`. Containers are essential by default.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDependency.html"],
    example: Some(Example {
        base: Base::Plain,
        given: &[],
        at: "containerDefinitions[migrate].essential",
        fails: None,
        repaired: Some("false"),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for (container, dependency, other) in subject.definition.known_dependencies() {
        let condition = dependency.condition.text().filter(|text| matches!(*text, "COMPLETE" | "SUCCESS"));
        let Some(condition) = condition else { continue };
        let is_elsewhere = subject.has_own_end(other) || subject.must_wait_for(container, other);
        if other.is_essential() != Some(true) || is_elsewhere || is_itself(container, other) {
            continue;
        }
        let (label, awaited) = (container.label(), other.label());
        let message = format!("{label} waits for the end of {awaited} ({condition}), which is essential");
        let help = format!("set essential to false on {awaited}, or wait for another condition");
        let why = if other.essential.is_absent() { "essential by default" } else { "essential" };
        let draft = Draft::new(dependency.condition.span(), message, help).of(container);
        findings.add(draft.note(other.essential.span(), why));
    }
}

fn is_itself(one: &Container, other: &Container) -> bool {
    std::ptr::eq(one, other)
}
