use crate::{
    definition::{Container, HealthCheck},
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

/// The default interval of health checks, in seconds.
const DEFAULT_INTERVAL: u64 = 30;
/// The interval within the start period in newer container runtimes, in seconds.
const START_INTERVAL: u64 = 5;

/// The minimum on Fargate.
const FARGATE_MINIMUM: u64 = 2;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "ecs-start-timeout-too-short",
    summary: "containers that others wait for have time to become healthy",
    severity: Severity::Error,
    applies: Applies::EveryTask,
    is_fixable: false,
    effect: "the containers that wait give up before the first health check runs, and the task stops; so does the next one",
    explanation: "\
`startTimeout` limits how long others wait for *this* container to become healthy (or to stop). The first health check \
runs one `interval` after the container has started; newer container runtimes check every 5 seconds within a \
`startPeriod`. If the timeout is shorter than that, no check can pass in time: the task stops, the service starts \
another one, and that one stops as well.",
    sources: &[
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_HealthCheck.html",
        "https://docs.docker.com/reference/dockerfile/#healthcheck",
    ],
    example: Some(Example {
        base: Base::Plain,
        given: &[("containerDefinitions[cache].healthCheck", r#"{ "command": ["CMD", "redis-cli", "ping"] }"#)],
        at: "containerDefinitions[cache].startTimeout",
        fails: Some("20"),
        repaired: Some("60"),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for container in &subject.definition.containers.items {
        let first_check = container.health_check.known().and_then(first_check);
        let (Some(timeout), Some(first_check)) = (container.start_timeout.known(), first_check) else { continue };
        // Another rule reports values that Fargate refuses.
        if *timeout < FARGATE_MINIMUM && subject.definition.runs_on_fargate() {
            continue;
        }
        let Some(waiting) = waiting_for(subject, container).filter(|_| *timeout < first_check) else { continue };
        let label = container.label();
        let message = format!(
            "{} waits at most {timeout} seconds until {label} is healthy, but its first health check runs after {first_check}",
            waiting.label()
        );
        let help = format!("raise the startTimeout of {label} well above {first_check}, or remove it");
        findings.add(Draft::new(container.start_timeout.span(), message, help).of(container));
    }
}

/// The earliest second at which a check can pass.
fn first_check(check: &HealthCheck) -> Option<u64> {
    let interval = check.interval.or(DEFAULT_INTERVAL)?;
    let has_start_period = check.start_period.or(0)? > 0;
    Some(if has_start_period { interval.min(START_INTERVAL) } else { interval })
}

fn waiting_for<'d>(subject: &Subject<'d>, container: &Container) -> Option<&'d Container> {
    let name = container.name.text()?;
    subject.definition.containers.items.iter().find(|other| {
        let dependencies = &other.depends_on.items;
        dependencies.iter().any(|it| it.container.text() == Some(name) && it.condition.text() == Some("HEALTHY"))
    })
}
