//! The proxies that take the request, and the tasks behind them.

use observe::ConnectProxy;

use super::{
    chain::{Leg, Taken},
    evidence::{PathEvidence, SERVICE_READ, ServiceTask, named, not_read},
    name::takes_over,
    report::{PathLine, Place},
    source_tasks::{counted_proxies, of_task},
};
use crate::{doctor::word, status::TaskVerdict};

const PLACE: Place = Place::DestinationTasks;
/// The most tasks that a line names.
const MOST_NAMED: usize = 3;

pub(super) fn judge(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    if evidence.destination.chain.is_err() {
        return vec![PathLine::unread(
            PLACE,
            "the discovery chain could not be read, so it is not known who is called",
        )];
    }
    let lines: Vec<PathLine> = evidence.targets().iter().filter_map(|leg| of_leg(evidence, leg)).collect();
    if lines.is_empty() {
        return vec![PathLine::not_needed(PLACE, "the name leads to no proxy")];
    }
    lines
}

fn of_leg(evidence: &PathEvidence<'_>, leg: &Leg<'_>) -> Option<PathLine> {
    let service = evidence.service_of(leg.target);
    let name = named(&service);
    let tasks = evidence.tasks_of(&service);
    let proxies = match evidence.destination.proxies.get(leg.id)? {
        Ok(proxies) => proxies,
        // A datacenter that Consul has no route to: the place of the name says so.
        Err(_) if service.datacenter.is_some() => return None,
        Err(error) => return Some(not_read(PLACE, error, SERVICE_READ)),
    };
    if proxies.is_empty() && tasks.is_empty() {
        return None;
    }
    let passing = proxies.iter().filter(|proxy| proxy.is_passing()).count();
    let of_all = format!("{passing} of {} of {name} passing", counted_proxies(proxies.len()));
    let why = format!("ecs-mesh why {}", word(&service.name));
    if passing == 0 {
        if takes_over(evidence, leg) {
            return Some(
                PathLine::possible(PLACE, format!("{of_all}; its failover takes the requests")).with_command(why),
            );
        }
        let what = if proxies.is_empty() {
            format!("ECS runs {name}, and Consul has no proxy of it")
        } else {
            format!("no proxy of {name} passes: {}", critical(proxies))
        };
        let what = format!("{what}{}", named_tasks(&tasks));
        return Some(line(leg, &what).changed_by("Correct what its tasks are stopped by").with_command(why));
    }
    if passes_only_at_loopback(proxies) {
        let what = format!(
            "every proxy of {name} that passes is registered at a loopback address, where no other task finds it"
        );
        return Some(line(leg, &what).with_command(why));
    }
    // Consul looks at the checks of the proxy alone: the service behind it may fail.
    let failing: Vec<&ServiceTask<'_>> = tasks.iter().filter(|task| fails_behind_its_proxy(task, proxies)).collect();
    Some(match failing.first() {
        Some(task) => PathLine::possible(PLACE, format!("{of_all}, but {}", of_task(task))).with_command(why),
        None => PathLine::ok(PLACE, of_all),
    })
}

/// A fault, if requests surely go there.
fn line(leg: &Leg<'_>, what: &str) -> PathLine {
    let lead = if leg.by.is_empty() { String::new() } else { format!("{}: ", leg.by) };
    match leg.taken {
        Taken::Surely => PathLine::fault(PLACE, lead + what),
        Taken::Perhaps => PathLine::possible(PLACE, lead + what),
    }
}

/// The critical checks of the first proxies.
fn critical(proxies: &[ConnectProxy]) -> String {
    let of_proxy = |proxy: &ConnectProxy| format!("{} ({})", proxy.id, proxy.critical_checks.join(", "));
    proxies.iter().take(MOST_NAMED).map(of_proxy).collect::<Vec<String>>().join("; ")
}

/// The first tasks with their verdicts, as the end of a sentence.
fn named_tasks(tasks: &[ServiceTask<'_>]) -> String {
    let wrong = tasks.iter().filter(|task| task.verdict != TaskVerdict::Healthy);
    wrong.take(MOST_NAMED).fold(String::new(), |named, task| named + "; " + &of_task(task))
}

fn passes_only_at_loopback(proxies: &[ConnectProxy]) -> bool {
    let is_loopback = |proxy: &ConnectProxy| proxy.address.parse::<std::net::IpAddr>().is_ok_and(|it| it.is_loopback());
    proxies.iter().filter(|proxy| proxy.is_passing()).all(is_loopback)
}

fn fails_behind_its_proxy(task: &ServiceTask<'_>, proxies: &[ConnectProxy]) -> bool {
    let is_failing =
        matches!(task.verdict, TaskVerdict::NotPassing(_) | TaskVerdict::Broken(_) | TaskVerdict::Disconnected(_));
    let id = task.member.task.arn.id();
    is_failing && proxies.iter().any(|proxy| proxy.is_passing() && proxy.task.as_ref() == Some(id))
}
