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
    effect: "ECS refuses to register the definition, because the container could never become healthy",
    explanation: "\
`HEALTHY` means that the `healthCheck` of the task definition passes. ECS ignores a `HEALTHCHECK` of the image, so \
that a container without a health check in the definition always stays `UNKNOWN`. The command `NONE` switches a check \
off.",
    sources: &[
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDependency.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_HealthCheck.html",
    ],
    examples: &[
        Example {
            base: Base::Plain,
            given: &[],
            at: "containerDefinitions[cache].healthCheck",
            fails: None,
            repaired: Some(r#"{ "command": ["CMD", "redis-cli", "ping"], "interval": 5 }"#),
        },
        Example {
            base: Base::Plain,
            given: &[],
            at: "containerDefinitions[cache].healthCheck.command",
            fails: Some(r#"["NONE"]"#),
            repaired: Some(r#"["CMD-SHELL", "redis-cli ping"]"#),
        },
        Example {
            base: Base::Dataplane,
            given: &[],
            at: "containerDefinitions[web].dependsOn[consul-ecs-mesh-init]",
            fails: Some(r#"{ "containerName": "consul-ecs-mesh-init", "condition": "HEALTHY" }"#),
            repaired: Some(r#"{ "containerName": "consul-ecs-mesh-init", "condition": "SUCCESS" }"#),
        },
        Example {
            base: Base::Dataplane,
            given: &[],
            at: "containerDefinitions[web].dependsOn[consul-ecs-health-sync]",
            fails: Some(r#"{ "containerName": "consul-ecs-health-sync", "condition": "HEALTHY" }"#),
            repaired: Some(r#"{ "containerName": "consul-ecs-health-sync", "condition": "START" }"#),
        },
        Example {
            base: Base::Client,
            given: &[],
            at: "containerDefinitions[web].dependsOn[consul-client]",
            fails: Some(r#"{ "containerName": "consul-client", "condition": "HEALTHY" }"#),
            repaired: Some(r#"{ "containerName": "consul-client", "condition": "START" }"#),
        },
    ],
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
