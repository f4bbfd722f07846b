//! What has happened, oldest first, and what the controller did, in words.

use jiff::Timestamp;
use mesh::{
    catalog::{CheckStatus, instance_in_maintenance},
    member::MemberTask,
    task::{ContainerEnd, DescribedTask, TaskContainer, TaskEnd},
};
use report::{ErrorLabel, LogAction, LogLine, LogOutcome};

use super::{
    evidence::TaskEvidence,
    report::{PastEvent, Who},
};
use crate::{inventory::Versions, redaction};

/// Events, which are sorted when they are taken.
#[derive(Debug, Default)]
pub(super) struct Timeline(Vec<PastEvent>);

impl Timeline {
    /// Adds an event, if it is known when it was.
    pub(super) fn add(&mut self, at: Option<Timestamp>, who: Who, what: impl Into<String>) {
        self.0.extend(at.map(|at| PastEvent { at, who, what: what.into(), times: 1, last_at: at }));
    }

    /// The events, oldest first. What the same one said several times is one event.
    pub(super) fn events(mut self) -> Vec<PastEvent> {
        self.0.sort_by_key(|event| (event.at, event.who));
        let mut events: Vec<PastEvent> = Vec::new();
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

pub(super) fn of_task(evidence: &TaskEvidence<'_>) -> Vec<PastEvent> {
    let mut timeline = Timeline::default();
    match evidence.member {
        Some(member) => {
            task_in_ecs(&mut timeline, member);
            audit(&mut timeline, evidence, member);
        }
        None => end_in_log(&mut timeline, evidence.end.as_ref()),
    }
    let has_end = evidence.member.is_none();
    for line in evidence.lines().filter(|line| !(has_end && line.end().is_some())) {
        if let Some(what) = describe(line) {
            timeline.add(Some(line.at), Who::Controller, what);
        }
    }
    login_tokens(&mut timeline, evidence);
    now(&mut timeline, evidence);
    timeline.events()
}

pub(super) fn task_in_ecs(timeline: &mut Timeline, member: &MemberTask) {
    let DescribedTask { pull_started_at, stopping_at, end, .. } = member.task.as_ref();
    timeline.add(end.created_at, Who::Ecs, created(member));
    timeline.add(*pull_started_at, Who::Ecs, "started to pull its images");
    timeline.add(end.started_at, Who::Ecs, "started all of its containers");
    timeline.add(*stopping_at, Who::Ecs, "began to stop it");
    timeline.add(end.stopped_at, Who::Ecs, stopped(end));
}

/// What the log says of a task that ECS no longer knows.
fn end_in_log(timeline: &mut Timeline, end: Option<&TaskEnd>) {
    let Some(end) = end else { return };
    timeline.add(end.created_at, Who::Ecs, "created it");
    timeline.add(end.started_at, Who::Ecs, "started all of its containers");
    timeline.add(end.stopped_at, Who::Ecs, stopped(end));
}

fn created(member: &MemberTask) -> String {
    let mut versions = Versions::default();
    versions.add(&member.definition);
    let mut parts = vec![member.definition.arn.short_name()];
    parts.extend(versions.consul_ecs.iter().map(|version| format!("consul-ecs {version}")));
    parts.extend(versions.consul_dataplane.iter().map(|version| format!("consul-dataplane {version}")));
    let by = member.task.placement.service.as_ref();
    let by = by.map(|service| format!(" for the service {service}")).unwrap_or_default();
    format!("created it{by}: {}", parts.join(", "))
}

/// How a task has stopped, in one line.
pub(super) fn stopped(end: &TaskEnd) -> String {
    let code = end.code.as_deref().unwrap_or("no stop code");
    let end = redaction::end(end.clone());
    let reason = end.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let failed: Vec<ContainerEnd> = end.containers.iter().filter(|it| it.exit_code != Some(0)).cloned().collect();
    let failed = if failed.is_empty() { String::new() } else { format!("; {}", ContainerEnd::line(&failed)) };
    format!("stopped it ({code}{reason}{failed})")
}

/// What the audit finds in the revision, at the time it was registered.
fn audit(timeline: &mut Timeline, evidence: &TaskEvidence<'_>, member: &MemberTask) {
    for error in &evidence.background.audit {
        timeline.add(
            member.definition.registered_at.or(member.task.end.created_at),
            Who::Audit,
            format!("error {} in {}: {}", error.rule, member.definition.arn.family(), error.message),
        );
    }
}

fn login_tokens(timeline: &mut Timeline, evidence: &TaskEvidence<'_>) {
    let (Some(tokens), Some(cluster)) = (&evidence.background.tokens, evidence.cluster) else { return };
    for token in tokens.listed.iter().filter(|token| token.is_login_of(evidence.id, &cluster.arn)) {
        timeline.add(token.created_at, Who::Consul, format!("the task logged in: token {}", token.accessor));
    }
}

/// What is so now.
fn now(timeline: &mut Timeline, evidence: &TaskEvidence<'_>) {
    if let Some(member) = evidence.active() {
        let status = if member.task.last_status.is_empty() { "no status" } else { &member.task.last_status };
        let containers: Vec<String> = member.task.containers.iter().map(container).collect();
        timeline.add(Some(evidence.now), Who::Ecs, format!("now {status}: {}", containers.join(", ")));
    }
    let Some(on_node) = &evidence.on_node else { return };
    let instances = on_node.instances_of(evidence.id);
    if instances.is_empty() {
        timeline.add(Some(evidence.now), Who::Consul, "now has no instance of the task");
        return;
    }
    let names: Vec<&str> = instances.iter().map(|instance| instance.id.as_str()).collect();
    let failing = on_node.failing(evidence.id);
    let critical: Vec<&str> =
        failing.iter().filter(|check| check.status == CheckStatus::Critical).map(|check| check.id.as_str()).collect();
    let checks = if failing.is_empty() {
        "all checks pass".to_owned()
    } else if critical.is_empty() {
        "checks warn".to_owned()
    } else {
        format!("critical: {}", critical.join(", "))
    };
    timeline.add(Some(evidence.now), Who::Consul, format!("now has {}; {checks}", names.join(", ")));
}

fn container(container: &TaskContainer) -> String {
    match (container.is_stopped, container.exit_code) {
        (true, Some(code)) => format!("{} exited with {code}", container.name),
        (true, None) => format!("{} STOPPED", container.name),
        (false, _) => format!("{} {}", container.name, container.health.as_str()),
    }
}

/// What a line says; `None` if another line says more.
pub(super) fn describe(line: &LogLine) -> Option<String> {
    use LogOutcome as O;
    if line.is(&LogAction::Observe) || line.is(&LogAction::Sweep) && !line.has(&O::GuardTripped) {
        return None;
    }
    let what = match &line.outcome {
        Some(O::Failed) => return Some(failed(line)),
        Some(O::GuardTripped) => {
            return Some(format!("the guard held back deletions or corrections: {}", reason(line)));
        }
        Some(O::Refused) => {
            let what = line.action.as_ref().map_or("an unnamed action", LogAction::as_str);
            format!("not permitted: {what}: {}", reason(line))
        }
        Some(O::Observed) => format!("not done (Mode=observe): {}", done(line)),
        Some(O::Done | O::Seen) | None => done(line),
        Some(other) => format!("{} ({})", done(line), other.as_str()),
    };
    Some(what)
}

fn failed(line: &LogLine) -> String {
    let label = line.error.as_ref().map_or("no label", ErrorLabel::as_str);
    let what = line.action.as_ref().map_or("an unnamed action", LogAction::as_str);
    format!("failed: {what} ({label}): {}", reason(line))
}

fn detail(line: &LogLine) -> Option<&str> {
    line.reason.as_deref().or(line.message.as_deref())
}

fn reason(line: &LogLine) -> &str {
    detail(line).unwrap_or("no reason given")
}

fn done(line: &LogLine) -> String {
    use LogAction as A;
    let or_it = |text: &Option<String>| text.clone().unwrap_or_else(|| "it".to_owned());
    let holder = line.holder.as_deref().unwrap_or("its service");
    let accessor = line.accessor_id.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
    let because = line.reason.as_ref().map(|reason| format!(", because {reason}")).unwrap_or_default();
    let Some(action) = &line.action else { return reason(line).to_owned() };
    match action {
        A::TaskStopped => "received its stop event".to_owned(),
        A::Deregister => format!("deregistered {}", or_it(&line.service_id)),
        A::DeregisterNode => "deregistered the node of its cluster".to_owned(),
        A::ForceLeave => format!("removed its Consul client agent {}{because}", or_it(&line.node)),
        A::DeleteLoginToken => format!("deleted its login token{accessor}"),
        A::MarkCritical => format!("put {} into maintenance mode{because}", or_it(&instance(line))),
        A::CreateToken => format!("created the token{accessor} of the {holder}"),
        A::RestoreToken => format!("created the token{accessor} of the {holder} again: Consul did not have it"),
        A::UpdateToken => format!("updated the token{accessor} of the {holder}"),
        A::ShowToken => format!("wrote the token{accessor} of the {holder} into its secret"),
        A::EmptySecret => format!("emptied the secret of the {holder}"),
        A::DeleteUnusedToken => {
            format!("deleted the token{accessor} of the {holder}: another attempt had created one")
        }
        A::Provision => format!("did not check the token of the {holder}{because}"),
        A::HideToken => format!("hid the token{accessor} of the {holder} from tasks{because}"),
        A::Revoke => format!("revoked the token{accessor} of the {holder}{because}"),
        A::Repair => format!("registered it again{because}"),
        A::CorrectHealth => format!("corrected its checks{because}"),
        A::Drain => format!("drained it{because}"),
        A::EndDrain => format!("took {} out of maintenance mode{because}", or_it(&instance(line))),
        A::ReportBrokenTask => format!("reported it as broken{because}"),
        A::AskForIdleCheck => format!("scheduled a check whether the {holder} still needs its token"),
        A::Sweep | A::Observe | A::Other(_) => {
            let action = action.as_str();
            detail(line).map_or_else(|| action.to_owned(), |detail| format!("{action}: {detail}"))
        }
    }
}

/// The instance of a maintenance check.
fn instance(line: &LogLine) -> Option<String> {
    line.check_id.as_ref().map(|id| instance_in_maintenance(id).unwrap_or(id).to_owned())
}
