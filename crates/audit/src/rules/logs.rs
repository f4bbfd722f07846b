//! The options of log drivers.

use super::prelude::*;
use crate::spelling::{misspelt, nearest, with_words};
use audit_read::definition::{LogOption, api::log_options};
use document::PathStep;

pub(super) static ECS_LOG_OPTIONS: Rule =
    Rule::of_task(page!("ecs-log-options"), Applies::EveryTask, check_log_options);

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
    let on_fargate = subject.definition.runs_on_fargate();
    let required = ["awslogs-group", "awslogs-region", "awslogs-stream-prefix"];
    let is_required = |name: &&str| on_fargate || *name == "awslogs-group";
    let is_missing = |name: &&str| options.lacks(|option| option.name.may_be(name));
    let mut missing: Vec<&str> = required.into_iter().filter(is_required).filter(is_missing).collect();
    let is_set = |name: &&str| options.items.iter().any(|option| option.name.may_be(name));
    let free: Vec<&str> = log_options("awslogs").map(|key| key.name).filter(|name| !is_set(name)).collect();
    for option in &options.items {
        let Some((meant, draft)) = unknown_option(container, option, &missing, &free) else { continue };
        missing.retain(|name| Some(*name) != meant);
        findings.add(draft);
    }
    let has = |name: &str| options.items.iter().find(|option| option.name.text() == Some(name));
    if let (Some(pattern), Some(_)) = (has("awslogs-multiline-pattern"), has("awslogs-datetime-format")) {
        let message = format!("the log driver awslogs of {label} has a pattern and a format of dates");
        findings.add(Draft::new(pattern.name.span(), message, "remove one of the two").of(container));
    }
    if !missing.is_empty() {
        let missing = missing.join(", ");
        let message = format!("the log driver awslogs of {label} has no option {missing}");
        let span = if options.is_present { options.place.span } else { container.log_driver.span() };
        findings.add(Draft::new(span, message, format!("add {missing} to options")).of(container));
    }
}

/// An option that `awslogs` does not know, and the one that is meant. Preferably, that is a required one that is `missing`;
/// else it is one of the `free` ones, which are not set already.
fn unknown_option(
    container: &Container,
    option: &LogOption,
    missing: &[&'static str],
    free: &[&'static str],
) -> Option<(Option<&'static str>, Draft)> {
    let known = || log_options("awslogs").map(|key| key.name);
    let name = option.name.text().filter(|name| known().all(|known| known != *name))?;
    let is_sure = misspelt(name, known()).is_some();
    if !is_sure && !name.starts_with("awslogs-") {
        return None;
    }
    let free = || free.iter().copied();
    let required = || misspelt(name, missing.iter().copied()).or_else(|| with_words(name, missing.iter().copied()));
    let near = || misspelt(name, free()).or_else(|| with_words(name, free())).or_else(|| nearest(name, free()));
    let required = required();
    let meant = required.or_else(near);
    let help = match (meant, required) {
        (Some(meant), Some(_)) => format!("rename it to {meant}"),
        (Some(meant), None) => format!("did you mean {meant}?"),
        (None, _) => "remove it".to_owned(),
    };
    let severity = if is_sure || required.is_some() { Severity::Error } else { Severity::Warning };
    let message = format!("the log driver awslogs of {} does not know the option {name}", container.label());
    let fix = meant.filter(|_| is_sure).and_then(|meant| renamed(container, option, meant));
    let draft = Draft::new(option.name.span(), message, help).of(container).severity(severity);
    Some((meant, draft.fix(fix)))
}

/// The edits that give an option another name, if its value stands next to the name.
fn renamed(container: &Container, option: &LogOption, name: &str) -> Option<Fix> {
    let options = &container.log_options.place;
    let at = |name: &str| options.then(PathStep::Key(name.to_owned()), options.span);
    let old = at(option.name.text()?);
    let is_here = old.route?.steps() == option.value.place.route.as_ref()?.steps();
    let value = option.value.text().filter(|_| is_here)?;
    Fix::set(&at(name), value)?.and(Fix::remove(&option.value.place))
}
