//! The tasks that call.

use audit::report::counted;

use super::{
    evidence::{PathEvidence, ServiceTask, named},
    report::{PathLine, Place},
};
use crate::status::TaskVerdict;

const PLACE: Place = Place::SourceTasks;

pub(super) fn judge(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let service = &evidence.source.service;
    let mut tasks = evidence.tasks_of(service);
    if let Some(wanted) = evidence.from_task {
        tasks.retain(|task| task.member.task.arn.id() == wanted);
        if tasks.is_empty() {
            let what = format!("no task {wanted} of service {} runs in the clusters that were read", named(service));
            return vec![PathLine::fault(PLACE, what).changed_by("Name a task that runs, or leave out --from-task")];
        }
    }
    if tasks.is_empty() {
        return vec![without_tasks(evidence)];
    }
    let (calling, others): (Vec<_>, Vec<_>) = tasks.iter().partition(|task| can_call(task));
    let all = counted(tasks.len(), "task");
    let Some(first) = others.first() else {
        return vec![PathLine::ok(PLACE, format!("{all}, registered and with a running proxy"))];
    };
    let what = format!("{} of {all} cannot call: {}", others.len(), of_task(first));
    let why = format!("ecs-mesh why {}", first.member.task.arn.id());
    let line = match (calling.is_empty(), &first.verdict) {
        (true, TaskVerdict::Unknown(_)) => PathLine::unread(PLACE, of_task(first)),
        (true, _) => PathLine::fault(PLACE, what),
        (false, _) => PathLine::possible(PLACE, what),
    };
    vec![line.with_command(why)]
}

/// Whether a task has a proxy that takes its calls. Its own checks and a drain keep only requests to it away, and
/// without a login token it works until it reconnects: the place of the trust says so.
fn can_call(task: &ServiceTask<'_>) -> bool {
    match task.verdict {
        TaskVerdict::Healthy
        | TaskVerdict::NotPassing(_)
        | TaskVerdict::Drained(_)
        | TaskVerdict::Unreachable(_)
        | TaskVerdict::Stopping => true,
        TaskVerdict::Broken(_) => task.has_proxy,
        TaskVerdict::NotRegistered(_)
        | TaskVerdict::NotInTheMesh(_)
        | TaskVerdict::Disconnected(_)
        | TaskVerdict::Unknown(_)
        | TaskVerdict::Starting(_) => false,
    }
}

/// A task and its verdict, in words.
pub(super) fn of_task(task: &ServiceTask<'_>) -> String {
    format!("task {} is {}", task.member.task.arn.id(), task.verdict)
}

fn without_tasks(evidence: &PathEvidence<'_>) -> PathLine {
    let service = named(&evidence.source.service);
    let proxies = evidence.source.proxies.as_deref().unwrap_or_default();
    if !proxies.is_empty() && evidence.is_all_read() {
        let what = format!("no task in the clusters that were read, and {} in Consul", counted_proxies(proxies.len()));
        return PathLine::ok(PLACE, what);
    }
    let what = format!("no task of service {service} runs, and Consul has no proxy of it");
    if evidence.is_all_read() && evidence.source.proxies.is_ok() {
        return PathLine::fault(PLACE, what).changed_by("Check the name, the region and the cluster, or start a task");
    }
    PathLine::unread(PLACE, format!("no task of service {service} was found, but not everything could be read"))
}

/// A number of proxies, in words.
pub(super) fn counted_proxies(number: usize) -> String {
    if number == 1 { "1 proxy".to_owned() } else { format!("{number} proxies") }
}
