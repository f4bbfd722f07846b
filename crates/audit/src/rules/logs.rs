//! The options of log drivers.

use super::prelude::*;
use crate::spelling::{misspelt, nearest};

pub(super) static ECS_LOG_OPTIONS: Rule =
    Rule::of_task(page!("ecs-log-options"), Applies::EveryTask, check_log_options);

/// The options of `awslogs` with its prefix. Sources: <https://docs.docker.com/engine/logging/drivers/awslogs/>,
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/specify-log-config.html>
const AWSLOGS: [&str; 12] = [
    "awslogs-create-group",
    "awslogs-credentials-endpoint",
    "awslogs-datetime-format",
    "awslogs-endpoint",
    "awslogs-force-flush-interval-seconds",
    "awslogs-format",
    "awslogs-group",
    "awslogs-max-buffered-events",
    "awslogs-multiline-pattern",
    "awslogs-region",
    "awslogs-stream",
    "awslogs-stream-prefix",
];

/// Whether an option is one of this log driver. `awsfirelens` passes its options to another program.
pub(super) fn is_of_driver(option: &str, driver: &str) -> bool {
    match option {
        "mode" | "max-buffer-size" => driver != "awsfirelens",
        "max-size" | "compress" => ["json-file", "local"].contains(&driver),
        other => other.strip_prefix(driver).is_some_and(|rest| rest.starts_with('-')),
    }
}

fn check_log_options(subject: &Subject<'_>, findings: &mut Findings) {
    let containers = &subject.definition.containers;
    for container in &containers.items {
        match container.log_driver.text() {
            Some("awslogs") => check_awslogs(subject, container, findings),
            Some("awsfirelens") if containers.lacks(|other| !other.fire_lens.is_absent()) => {
                let label = container.label();
                let message = format!("{label} logs to FireLens, but no container has firelensConfiguration");
                let help = "add the log router, or use the log driver awslogs";
                findings.add(Draft::new(container.log_driver.span(), message, help).of(container));
            }
            _ => {}
        }
    }
}

fn check_awslogs(subject: &Subject<'_>, container: &Container, findings: &mut Findings) {
    let options = &container.log_options;
    let label = container.label();
    let mut meant = Vec::new();
    for option in &options.items {
        let Some(name) = option.text().filter(|name| !AWSLOGS.contains(name)) else { continue };
        let near = misspelt(name, AWSLOGS);
        meant.extend(near);
        let (help, severity) = match near {
            Some(near) => (format!("did you mean {near}?"), Severity::Error),
            None if !name.starts_with("awslogs-") => continue,
            None => {
                let near = nearest(name, AWSLOGS)
                    .map_or_else(|| "remove it".to_owned(), |near| format!("did you mean {near}?"));
                (near, Severity::Warning)
            }
        };
        let message = format!("the log driver awslogs of {label} does not know the option {name}");
        findings.add(Draft::new(option.span(), message, help).of(container).severity(severity));
    }
    let has = |name: &str| options.items.iter().find(|option| option.text() == Some(name));
    if let (Some(pattern), Some(_)) = (has("awslogs-multiline-pattern"), has("awslogs-datetime-format")) {
        let message = format!("the log driver awslogs of {label} has a pattern and a format of dates");
        findings.add(Draft::new(pattern.span(), message, "remove one of the two").of(container));
    }
    let on_fargate = subject.definition.runs_on_fargate();
    let required = ["awslogs-group", "awslogs-region", "awslogs-stream-prefix"];
    let is_required = |name: &&str| on_fargate || *name == "awslogs-group";
    let is_missing = |name: &&str| options.lacks(|option| option.may_be(name)) && !meant.contains(name);
    let missing: Vec<&str> = required.into_iter().filter(is_required).filter(is_missing).collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        let message = format!("the log driver awslogs of {label} has no option {missing}");
        let span = if options.is_present { options.place.span } else { container.log_driver.span() };
        findings.add(Draft::new(span, message, format!("add {missing} to options")).of(container));
    }
}
