use std::ops::RangeInclusive;

use crate::{
    definition::{Container, Field, HealthCheck},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

/// The value from which a time was probably meant in milliseconds.
const SECOND: u64 = 1000;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "ecs-health-check-range",
    summary: "the times and retries of health checks are in the ranges that ECS allows",
    severity: Severity::Error,
    applies: Applies::EveryTask,
    is_fixable: true,
    effect: "ECS refuses to register the definition",
    explanation: "\
ECS allows an `interval` of 5 to 300 seconds, a `timeout` of 2 to 60 seconds, 1 to 10 `retries` and a `startPeriod` of \
at most 300 seconds. All times are in seconds: values in milliseconds, as other tools have them, are out of range.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_HealthCheck.html"],
    example: Some(Example {
        base: Base::Plain,
        given: &[],
        at: "containerDefinitions[cache].healthCheck.interval",
        fails: Some("2"),
        repaired: Some("5"),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for container in &subject.definition.containers.items {
        let Some(HealthCheck { interval, timeout, retries, start_period, .. }) = container.health_check.known() else {
            continue;
        };
        check_range(container, ("interval", interval), 5..=300, findings);
        check_range(container, ("timeout", timeout), 2..=60, findings);
        check_range(container, ("retries", retries), 1..=10, findings);
        check_range(container, ("startPeriod", start_period), 0..=300, findings);
    }
}

fn check_range(
    container: &Container,
    (key, field): (&str, &Field<u64>),
    range: RangeInclusive<u64>,
    findings: &mut Findings,
) {
    let Some(value) = field.known().filter(|value| !range.contains(value)) else { return };
    let (least, most) = range.into_inner();
    let message = format!("the health check of {} has the {key} {value}", container.label());
    let help = format!("choose a value from {least} to {most}");
    let is_in_milliseconds = *value >= SECOND && key != "retries";
    let nearest = if is_in_milliseconds { *value / SECOND } else { (*value).clamp(least, most) };
    let fix = Fix::set(&field.place, nearest).filter(|_| (least..=most).contains(&nearest));
    findings.add(Draft::new(field.span(), message, help).of(container).fix(fix));
}
