//! The status for people.

use std::fmt::Write;

use diagnosis::{ServiceStatus, State, StatusReport, TaskStatus};
use jiff::Timestamp;
use mesh::time::elapsed;

use crate::by_hand::counted;
use crate::sheet::{Cell, Medium, NOTHING_TO_SAY, Sheet, Tone, wrapped};

const SERVICES: [&str; 8] =
    ["service", "tasks", "in Consul", "consul-ecs", "dataplane", "token from", "changed", "verdict"];
const UNPROVEN: [&str; 3] = ["service", "task", "why"];
const TASKS: [&str; 5] = ["task", "revision", "status", "started", "verdict"];

/// The text of a report; with the tasks of each service, if one was asked for.
pub(super) fn text(report: &StatusReport, with_tasks: bool, medium: Medium) -> String {
    let mut out = String::new();
    let mut clusters: Vec<&str> = report.services.iter().map(|service| service.cluster.as_str()).collect();
    clusters.dedup();
    for cluster in clusters {
        let services: Vec<&ServiceStatus> = report.services.iter().filter(|it| it.cluster == cluster).collect();
        let name = services.first().map_or(cluster, |service| service.cluster_name());
        out.push_str(&wrapped(&Cell::new(format!("Cluster {name}"), Tone::Strong), medium));
        let mut sheet = Sheet::new(&SERVICES);
        for service in &services {
            sheet.add(service_row(service, report.read_at));
        }
        // Writing to a `String` cannot fail.
        let _ = write!(out, "\n{}\n", sheet.text(medium));
        if with_tasks {
            out.extend(services.iter().map(|service| details(service, report.read_at, medium)));
        }
    }
    if !with_tasks {
        out.push_str(&wrapped(&Cell::plain(summary(report)), medium));
    }
    out + &unproven(report, with_tasks, medium)
}

/// The registered tasks without a login token that proves their admission: all of them, or one of each service.
fn unproven(report: &StatusReport, with_tasks: bool, medium: Medium) -> String {
    if let Some(reason) = &report.admission_unknown {
        let unknown = format!("Whether Consul has admitted the registered tasks is not known: {reason}");
        return format!("\n{}", wrapped(&Cell::new(unknown, Tone::Faint), medium));
    }
    let mut sheet = Sheet::new(&UNPROVEN);
    let mut total = 0_usize;
    for service in &report.services {
        let tasks: Vec<(&TaskStatus, &String)> =
            service.tasks.iter().filter_map(|task| Some((task, task.unproven.as_ref()?))).collect();
        total = total.saturating_add(tasks.len());
        for (task, why) in tasks.iter().take(if with_tasks { tasks.len() } else { 1 }) {
            let others =
                if with_tasks || tasks.len() == 1 { String::new() } else { format!(" and {} more", tasks.len() - 1) };
            let task = Cell::plain(format!("{}{others}", task.id));
            sheet.add(vec![Cell::new(name(service), Tone::Strong), task, Cell::new(why.as_str(), Tone::Pending)]);
        }
    }
    if total == 0 {
        return String::new();
    }
    let title = format!("Registered without a login token that proves it: {}", counted(total, "task", "tasks"));
    format!("\n{}\n{}", wrapped(&Cell::new(title, Tone::Strong), medium), sheet.text(medium))
}

/// The other faults of a service, and its tasks.
fn details(service: &ServiceStatus, now: Timestamp, medium: Medium) -> String {
    let mut out = String::new();
    for fault in service.faults.iter().skip(1) {
        out.push_str(&wrapped(&Cell::new(format!("Also: {fault}"), Tone::Bad), medium));
        out.push('\n');
    }
    if service.tasks.is_empty() {
        return out + "No task\n";
    }
    let mut sheet = Sheet::new(&TASKS);
    for task in &service.tasks {
        sheet.add(task_row(task, now));
    }
    out + &sheet.text(medium)
}

fn service_row(service: &ServiceStatus, now: Timestamp) -> Vec<Cell> {
    let versions = |all: &std::collections::BTreeSet<String>| {
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        Cell::plain(if all.is_empty() { NOTHING_TO_SAY.to_owned() } else { all.join(", ") })
    };
    let mut sources: Vec<&str> = service.tokens.iter().map(diagnosis::TokenSource::as_str).collect();
    sources.dedup();
    let changed = service.last_change.map_or_else(|| NOTHING_TO_SAY.to_owned(), |change| ago(change.at, now));
    vec![
        Cell::new(name(service), Tone::Strong),
        Cell::plain(tasks(service)),
        Cell::plain(in_consul(service)),
        versions(&service.versions.consul_ecs),
        versions(&service.versions.consul_dataplane),
        Cell::plain(if sources.is_empty() { NOTHING_TO_SAY.to_owned() } else { sources.join(", ") }),
        Cell::plain(changed),
        Cell::new(&service.verdict, tone(service.state)),
    ]
}

/// The name of a service, with its namespace and partition where it has them.
fn name(service: &ServiceStatus) -> String {
    match (&service.namespace, &service.partition) {
        (Some(namespace), Some(partition)) => format!("{} ({partition}/{namespace})", service.service),
        _ => service.service.clone(),
    }
}

fn tasks(service: &ServiceStatus) -> String {
    match service.desired_tasks {
        Some(desired) => format!("{} of {desired}", service.running_tasks),
        None => service.running_tasks.to_string(),
    }
}

fn in_consul(service: &ServiceStatus) -> String {
    match (service.instances, service.passing_instances) {
        (Some(0), _) => "none".to_owned(),
        (Some(all), Some(passing)) => format!("{passing} of {all} passing"),
        _ => "?".to_owned(),
    }
}

fn task_row(task: &TaskStatus, now: Timestamp) -> Vec<Cell> {
    let or_dash = |text: &Option<String>| Cell::plain(text.as_deref().unwrap_or(NOTHING_TO_SAY));
    let started = task.started_at.map_or_else(|| NOTHING_TO_SAY.to_owned(), |at| ago(at, now));
    vec![
        Cell::new(&task.id, Tone::Strong),
        or_dash(&task.revision),
        or_dash(&task.last_status),
        Cell::plain(started),
        Cell::new(&task.verdict, tone(task.state)),
    ]
}

fn tone(state: State) -> Tone {
    match state {
        State::Healthy => Tone::Good,
        State::ScaledToZero | State::Stopping => Tone::Faint,
        State::Starting | State::Unknown => Tone::Pending,
        State::Faulty => Tone::Bad,
    }
}

fn summary(report: &StatusReport) -> String {
    let total = report.services.len();
    if total == 0 {
        return "No service of the mesh was found".to_owned();
    }
    let count = |is_it: fn(State) -> bool| report.services.iter().filter(|it| is_it(it.state)).count();
    let kinds = [
        ("healthy", count(|state| state == State::Healthy)),
        ("with a fault", count(|state| state == State::Faulty)),
        ("unknown", count(|state| state == State::Unknown)),
        ("starting", count(|state| state == State::Starting)),
        ("stopping", count(|state| state == State::Stopping)),
        ("scaled to zero", count(|state| state == State::ScaledToZero)),
    ];
    let kinds = kinds.iter().filter(|(_, count)| *count > 0).map(|(kind, count)| format!("{count} {kind}"));
    let services = if total == 1 { "service" } else { "services" };
    format!("{total} {services}: {}", kinds.collect::<Vec<String>>().join(", "))
}

/// How long ago something was: `5 min ago`.
pub(super) fn ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = elapsed(at, now).as_secs();
    match seconds {
        0..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..172_800 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_said_in_its_largest_unit() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let now = at(1_000_000);
        let said = [0, 59, 60, 3_599, 3_600, 172_799, 172_800].map(|seconds| ago(at(1_000_000 - seconds), now));
        assert_eq!(said, ["0 s ago", "59 s ago", "1 min ago", "59 min ago", "1 h ago", "47 h ago", "2 days ago"]);
    }
}
