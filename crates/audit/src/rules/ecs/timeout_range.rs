use crate::{
    definition::{Container, Field},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

/// The minimum and the maximum on Fargate, in seconds.
const RANGE: std::ops::RangeInclusive<u64> = 2..=120;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "ecs-timeout-range",
    summary: "start and stop timeouts on Fargate are 2 to 120 seconds",
    severity: Severity::Error,
    applies: Applies::EveryTask,
    is_fixable: true,
    effect: "ECS refuses the definition, or an app that needs more than 120 seconds to stop is killed",
    explanation: "\
Fargate allows `startTimeout` and `stopTimeout` between 2 and 120 seconds. A task on Fargate has at most 120 seconds \
between TERM and KILL: an app that needs longer has to save its work, or run on EC2 instances, which allow more.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html"],
    example: Some(Example {
        base: Base::Plain,
        given: &[],
        at: "containerDefinitions[report].stopTimeout",
        fails: Some("300"),
        repaired: Some("120"),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if !subject.definition.runs_on_fargate() {
        return;
    }
    for container in &subject.definition.containers.items {
        check_timeout(container, "startTimeout", &container.start_timeout, findings);
        check_timeout(container, "stopTimeout", &container.stop_timeout, findings);
    }
}

fn check_timeout(container: &Container, key: &str, timeout: &Field<u64>, findings: &mut Findings) {
    let Some(seconds) = timeout.known().filter(|seconds| !RANGE.contains(seconds)) else { return };
    let (least, most) = (RANGE.start(), RANGE.end());
    let message = format!("the {key} of {} is {seconds}, but Fargate allows {least} to {most}", container.label());
    let (help, nearest) = if seconds > most {
        (format!("lower it to {most}, or run the task on EC2 instances"), *most)
    } else {
        (format!("raise it to {least} at least"), *least)
    };
    // The time that a start needs is unknown: the minimum may be too short as well.
    let fix = Fix::set(&timeout.place, nearest).filter(|_| key == "stopTimeout" || nearest == *most);
    findings.add(Draft::new(timeout.span(), message, help).of(container).fix(fix));
}
