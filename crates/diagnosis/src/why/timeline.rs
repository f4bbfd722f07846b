//! What has happened, oldest first.

use aws::ecs::TaskHistory;
use jiff::Timestamp;
use mesh::{
    catalog::CheckStatus,
    task::TaskContainer,
    task_end::{ContainerEnd, TaskEnd},
};

use super::{
    case::Case,
    controller::said,
    report::{Event, Who},
};
use crate::{observed::Member, versions::Versions};

/// Events, which are sorted when they are taken.
#[derive(Debug, Default)]
pub(super) struct Timeline(Vec<Event>);

impl Timeline {
    /// Adds an event, if it is known when it was.
    pub(super) fn add(&mut self, at: Option<Timestamp>, who: Who, what: impl Into<String>) {
        self.0.extend(at.map(|at| Event { at, who, what: what.into(), times: 1, last_at: at }));
    }

    /// The events, oldest first. What the same one said several times is one event.
    pub(super) fn events(mut self) -> Vec<Event> {
        self.0.sort_by_key(|event| (event.at, event.who));
        let mut events: Vec<Event> = Vec::new();
        for event in self.0 {
            let same = events.iter_mut().find(|it| (it.who, &it.what) == (event.who, &event.what));
            match same {
                Some(same) => {
                    same.times += 1;
                    same.last_at = event.at;
                }
                None => events.push(event),
            }
        }
        events
    }
}

/// The timeline of a task.
pub(super) fn of_task(case: &Case<'_>) -> Vec<Event> {
    let mut timeline = Timeline::default();
    match case.member {
        Some(member) => {
            task_in_ecs(&mut timeline, member);
            audit(&mut timeline, case, member);
        }
        None => end_in_log(&mut timeline, case.end.as_ref()),
    }
    let has_end = case.member.is_none();
    for line in case.lines().filter(|line| !(has_end && line.end().is_some())) {
        if let Some(what) = said(line) {
            timeline.add(Some(line.at), Who::Controller, what);
        }
    }
    login_tokens(&mut timeline, case);
    now(&mut timeline, case);
    timeline.events()
}

/// What ECS says of a task.
pub(super) fn task_in_ecs(timeline: &mut Timeline, member: &Member) {
    let TaskHistory { pull_started_at, stopping_at, end } = &member.state.history;
    timeline.add(end.created_at, Who::Ecs, created(member));
    timeline.add(*pull_started_at, Who::Ecs, "pulls its images");
    timeline.add(end.started_at, Who::Ecs, "all of its containers have started");
    timeline.add(*stopping_at, Who::Ecs, "begins to stop it");
    timeline.add(end.stopped_at, Who::Ecs, stopped(end));
}

/// What the log says of a task that ECS has forgotten.
fn end_in_log(timeline: &mut Timeline, end: Option<&TaskEnd>) {
    let Some(end) = end else { return };
    timeline.add(end.created_at, Who::Ecs, "created it");
    timeline.add(end.started_at, Who::Ecs, "all of its containers have started");
    timeline.add(end.stopped_at, Who::Ecs, stopped(end));
}

fn created(member: &Member) -> String {
    let mut versions = Versions::default();
    versions.add(&member.definition);
    let definition = &member.state.task.definition;
    let mut parts = vec![format!("{}:{}", definition.family(), definition.revision())];
    parts.extend(versions.consul_ecs.iter().map(|version| format!("consul-ecs {version}")));
    parts.extend(versions.consul_dataplane.iter().map(|version| format!("consul-dataplane {version}")));
    let by = member.state.task.placement.service.as_ref();
    let by = by.map(|service| format!(" for the service {service}")).unwrap_or_default();
    format!("created it{by}: {}", parts.join(", "))
}

/// How a task has stopped, in one line.
pub(super) fn stopped(end: &TaskEnd) -> String {
    let code = end.code.as_deref().unwrap_or("no stop code");
    let reason = end.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let failed: Vec<ContainerEnd> = end.containers.iter().filter(|it| it.exit_code != Some(0)).cloned().collect();
    let failed = if failed.is_empty() { String::new() } else { format!("; {}", ContainerEnd::line(&failed)) };
    format!("stopped it ({code}{reason}{failed})")
}

/// What the audit finds in the revision, at the time it was registered.
fn audit(timeline: &mut Timeline, case: &Case<'_>, member: &Member) {
    for error in &case.further.audit {
        timeline.add(
            member.definition.registered_at.or(member.state.history.end.created_at),
            Who::Audit,
            format!("error {} in {}: {}", error.rule, member.definition.definition.arn.family(), error.message),
        );
    }
}

fn login_tokens(timeline: &mut Timeline, case: &Case<'_>) {
    let (Some(tokens), Some(cluster)) = (&case.further.tokens, case.cluster) else { return };
    for token in tokens.listed.iter().filter(|token| token.is_login_of(case.id, &cluster.arn)) {
        timeline.add(token.created_at, Who::Consul, format!("the task logged in: token {}", token.accessor));
    }
}

/// What is so now.
fn now(timeline: &mut Timeline, case: &Case<'_>) {
    if let Some(member) = case.active() {
        let status = if member.state.last_status.is_empty() { "no status" } else { &member.state.last_status };
        let containers: Vec<String> = member.state.task.containers.iter().map(container).collect();
        timeline.add(Some(case.now), Who::Ecs, format!("now {status}: {}", containers.join(", ")));
    }
    let Some(on_node) = &case.on_node else { return };
    let instances = on_node.instances_of(case.id);
    if instances.is_empty() {
        timeline.add(Some(case.now), Who::Consul, "now has no instance of it");
        return;
    }
    let names: Vec<&str> = instances.iter().map(|instance| instance.id.as_str()).collect();
    let failing = on_node.failing(case.id);
    let critical: Vec<&str> =
        failing.iter().filter(|check| check.status == CheckStatus::Critical).map(|check| check.id.as_str()).collect();
    let checks = if failing.is_empty() {
        "all checks pass".to_owned()
    } else if critical.is_empty() {
        "checks warn".to_owned()
    } else {
        format!("critical: {}", critical.join(", "))
    };
    timeline.add(Some(case.now), Who::Consul, format!("now has {}; {checks}", names.join(", ")));
}

fn container(container: &TaskContainer) -> String {
    match (container.is_stopped, container.exit_code) {
        (true, Some(code)) => format!("{} exited with {code}", container.name),
        (true, None) => format!("{} STOPPED", container.name),
        (false, _) => format!("{} {}", container.name, container.health.as_str()),
    }
}
