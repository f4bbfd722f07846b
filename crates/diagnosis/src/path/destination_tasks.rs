//! The proxies that take the request, and the tasks behind them.

use std::collections::BTreeSet;

use mesh::arn::TaskId;
use observe::ConnectProxy;

use super::{
    chain::{Leg, Taken},
    evidence::{PathEvidence, SERVICE_READ, ServiceTask, named, not_read},
    load_balancer,
    name::takes_over,
    proxy_output,
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
    let legs = evidence.targets();
    let of_leg = |leg: &Leg<'_>| {
        let proxies = of_leg(evidence, leg).into_iter().chain(by_gateway(evidence, leg));
        proxies.chain(load_balancer::of_leg(evidence, leg))
    };
    let mut lines: Vec<PathLine> = legs.iter().flat_map(of_leg).collect();
    if lines.is_empty() {
        lines.push(PathLine::not_needed(PLACE, "the name leads to no proxy"));
    }
    lines.extend(proxy_output::instances(evidence));
    lines
}

/// A terminating gateway needs a token that may write the service it leads to. consul-ecs gives its role no rule.
fn by_gateway(evidence: &PathEvidence<'_>, leg: &Leg<'_>) -> Option<PathLine> {
    let mut proxies = evidence.destination.proxies.get(leg.id)?.as_deref().ok()?.iter();
    let gateway = proxies.find(|proxy| proxy.is_terminating_gateway)?;
    let what = format!(
        r#"requests leave the mesh by the terminating gateway {}: its token needs service "{}" {{ policy = "write" }}"#,
        gateway.id, leg.target.service
    );
    Some(PathLine::possible(PLACE, what).with_command("consul acl role list"))
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
    let address = app_of(proxies);
    Some(match failing.first() {
        Some(task) => {
            let what = format!("{of_all}, but {}. Its proxy reaches the app at {address} alone", of_task(task));
            PathLine::possible(PLACE, what).with_command(why)
        }
        None => other_port(&tasks, proxies, &of_all)
            .or_else(|| out_of_step(&tasks, proxies, &evidence.leftovers_of(&service), &of_all))
            .unwrap_or_else(|| PathLine::ok(PLACE, of_all)),
    })
}

/// Proxies that pass although their task has ended, and tasks that run without a proxy in Consul.
fn out_of_step(
    tasks: &[ServiceTask<'_>],
    proxies: &[ConnectProxy],
    leftovers: &BTreeSet<TaskId>,
    of_all: &str,
) -> Option<PathLine> {
    let left: Vec<(&ConnectProxy, &TaskId)> = proxies
        .iter()
        .filter(|proxy| proxy.is_passing())
        .filter_map(|proxy| Some((proxy, proxy.task.as_ref()?)))
        .filter(|(_, task)| leftovers.contains(task))
        .collect();
    let lost: Vec<&ServiceTask<'_>> =
        tasks.iter().filter(|task| matches!(task.verdict, TaskVerdict::NotRegistered(_))).collect();
    let of_left = left.first().map(|(proxy, task)| {
        let number = counted_proxies(left.len());
        format!("ECS does not run the tasks of {number}, such as {task} at {}: requests to it fail", proxy.address)
    });
    let of_lost = lost.first().map(|task| of_task(task));
    let what: Vec<String> = of_left.into_iter().chain(of_lost).collect();
    let ids = left.first().map(|(_, task)| *task).into_iter().chain(lost.first().map(|it| it.member.task.arn.id()));
    let commands = ids.map(|id| format!("ecs-mesh why {id}"));
    let line = || PathLine::possible(PLACE, format!("{of_all}, but {}", what.join("; "))).with_commands(commands);
    (!what.is_empty()).then(line)
}

/// Where the proxies send requests: the address and the port of the app.
fn app_of(proxies: &[ConnectProxy]) -> String {
    let Some(proxy) = proxies.first() else { return String::new() };
    let address = if proxy.local_service_address.is_empty() { "127.0.0.1" } else { &proxy.local_service_address };
    format!("{address}:{}", proxy.local_service_port)
}

/// A task whose proxy sends requests to a port that no container has.
fn other_port(tasks: &[ServiceTask<'_>], proxies: &[ConnectProxy], of_all: &str) -> Option<PathLine> {
    tasks.iter().find_map(|task| {
        let id = task.member.task.arn.id();
        let proxy = proxies.iter().find(|proxy| proxy.task.as_ref() == Some(id))?;
        let containers = &task.member.definition.containers;
        let ports: Vec<String> = containers.iter().flat_map(|it| &it.ports).map(u16::to_string).collect();
        let (port, revision) = (proxy.local_service_port, task.member.definition.arn.short_name());
        let is_unmapped = port != 0 && !ports.is_empty() && !ports.contains(&port.to_string());
        let what = format!(
            "{of_all}, but their app is registered at port {port}, and the containers of {revision} have {}",
            ports.join(", ")
        );
        let change = format!(
            "Set service.port in CONSUL_ECS_CONFIG_JSON of task definition {revision} to the app's, and deploy it"
        );
        is_unmapped.then(|| PathLine::possible(PLACE, what).changed_by(change))
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
        matches!(task.verdict, TaskVerdict::NotPassing(_) | TaskVerdict::Broken(_) | TaskVerdict::Disconnected(_))
            && task.lost_token.is_none();
    let id = task.member.task.arn.id();
    is_failing && proxies.iter().any(|proxy| proxy.is_passing() && proxy.task.as_ref() == Some(id))
}
