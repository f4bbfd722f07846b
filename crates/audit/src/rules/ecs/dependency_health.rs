use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "ecs-dependency-health",
    summary: "containers wait for HEALTHY only if the other container has a health check",
    severity: Severity::Error,
    applies: Applies::EveryTask,
    is_fixable: false,
    effect: "ECS refuses to register the definition, because the container could never become healthy",
    explanation: "\
`HEALTHY` means that the `healthCheck` of the task definition passes. ECS ignores a `HEALTHCHECK` of the image, so \
that a container without a health check in the definition always stays `UNKNOWN`. The command `NONE` switches a check \
off.",
    sources: &[
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDependency.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_HealthCheck.html",
    ],
    example: Some(Example {
        base: Base::Plain,
        given: &[],
        at: "containerDefinitions[cache].healthCheck",
        fails: None,
        repaired: Some(r#"{ "command": ["CMD", "redis-cli", "ping"], "interval": 5 }"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for (container, dependency, other) in subject.definition.known_dependencies() {
        if dependency.condition.text() != Some("HEALTHY")
            || other.has_health_check() != Some(false)
            || subject.must_be_checked(other)
            || subject.must_wait_for(container, other)
        {
            continue;
        }
        let (label, awaited) = (container.label(), other.label());
        let message = format!("{label} waits until {awaited} is healthy, but {awaited} has no health check");
        let help = format!("give {awaited} a healthCheck, or wait for START");
        let draft = Draft::new(dependency.condition.span(), message, help).of(container);
        findings.add(draft.note(other.span(), "has no health check"));
    }
}
