//! Dependencies between containers, and their timeouts.

use std::collections::HashMap;

use petgraph::{
    algo::kosaraju_scc,
    graph::{DiGraph, NodeIndex},
};

use super::prelude::*;
use crate::spelling::nearest;
use audit_read::definition::{ContainerHealthCheck, Dependency, Order};

/// The conditions of dependencies.
const CONDITIONS: [&str; 4] = ["START", "COMPLETE", "SUCCESS", "HEALTHY"];

/// With how many names of containers an unknown one is compared. ECS allows ten containers.
const MOST_COMPARED: usize = 100;

pub(super) static ECS_DEPENDENCY_CONDITION: Rule =
    Rule::of_task(page!("ecs-dependency-condition"), Applies::EveryTask, check_dependency_condition);

fn check_dependency_condition(subject: &Subject<'_>, findings: &mut Findings) {
    for container in &subject.definition.containers.items {
        for dependency in &container.depends_on.items {
            let Some(condition) = dependency.condition.text().filter(|text| !CONDITIONS.contains(text)) else {
                continue;
            };
            let meant = CONDITIONS.iter().find(|known| known.eq_ignore_ascii_case(condition));
            let fix = meant.and_then(|meant| Fix::set(&dependency.condition.place, *meant));
            let label = container.label();
            let message = format!("{label} waits for the condition {condition}, which ECS does not know");
            let help = match meant {
                Some(meant) => format!("write {meant}"),
                None => format!("use one of {}", CONDITIONS.join(", ")),
            };
            findings.add(Draft::new(dependency.condition.span(), message, help).of(container).fix(fix));
        }
    }
}

pub(super) static ECS_DEPENDENCY_CYCLE: Rule =
    Rule::of_task(page!("ecs-dependency-cycle"), Applies::EveryTask, check_dependency_cycle);

fn check_dependency_cycle(subject: &Subject<'_>, findings: &mut Findings) {
    let graph = graph_of(&subject.definition.containers.items, subject.order());
    let mut groups: Vec<Vec<NodeIndex>> = kosaraju_scc(&graph);
    for group in &mut groups {
        group.sort_unstable();
    }
    groups.sort_unstable();
    for cycle in groups.iter().filter_map(|group| shortest_cycle(&graph, group)) {
        report(&cycle, findings);
    }
}

type Graph<'d> = DiGraph<&'d Container, ()>;

/// A graph of the dependencies.
fn graph_of<'d>(containers: &'d [Container], order: &Order<'d>) -> Graph<'d> {
    let mut graph = DiGraph::new();
    let nodes: Vec<NodeIndex> = containers.iter().map(|container| graph.add_node(container)).collect();
    for (container, _, other) in order.pairs() {
        if let (Some(from), Some(to)) = (nodes.get(container.number), nodes.get(other.number)) {
            graph.add_edge(*from, *to, ());
        }
    }
    graph
}

/// The shortest cycle through its first container. `None` if the group is a single container that does not wait for
/// itself.
fn shortest_cycle<'d>(graph: &Graph<'d>, group: &[NodeIndex]) -> Option<Vec<&'d Container>> {
    let first = *group.first()?;
    let mut reached = vec![first];
    let mut before: HashMap<NodeIndex, NodeIndex> = HashMap::new();
    let mut next = 0;
    while let Some(from) = reached.get(next).copied() {
        next += 1;
        for to in graph.neighbors(from).filter(|to| group.binary_search(to).is_ok()) {
            if to == first {
                let path = std::iter::successors(Some(from), |node| before.get(node).copied());
                let mut path: Vec<&Container> = path.filter_map(|node| graph.node_weight(node).copied()).collect();
                path.reverse();
                return Some(path);
            }
            if let std::collections::hash_map::Entry::Vacant(unknown) = before.entry(to) {
                unknown.insert(from);
                reached.push(to);
            }
        }
    }
    None
}

fn report(cycle: &[&Container], findings: &mut Findings) {
    let mut names: Vec<String> = cycle.iter().take(SHOWN).map(|container| container.label()).collect();
    if cycle.len() > SHOWN {
        names.push("…".to_owned());
    }
    let (Some(first), Some(name)) = (cycle.first(), names.first()) else { return };
    let after = names.get(1).unwrap_or(name);
    let edge = first.depends_on.items.iter().find(|dependency| dependency.container.text() == Some(after));
    let span = edge.map_or(first.span(), |dependency| dependency.place.span);
    let message = match names.as_slice() {
        [alone] => format!("{alone} waits for itself"),
        several => format!("these containers wait for each other: {} → {name}", several.join(" → ")),
    };
    findings.add(Draft::new(span, message, "remove one of these dependencies").of(first));
}

pub(super) static ECS_DEPENDENCY_ESSENTIAL: Rule =
    Rule::of_task(page!("ecs-dependency-essential"), Applies::EveryTask, check_dependency_essential);

fn check_dependency_essential(subject: &Subject<'_>, findings: &mut Findings) {
    for (container, dependency, other) in subject.order().pairs() {
        let condition = dependency.condition.text().filter(|text| matches!(*text, "COMPLETE" | "SUCCESS"));
        let Some(condition) = condition else { continue };
        let is_elsewhere = subject.has_own_end(other) || subject.must_wait_for(container, other);
        let is_essential = other.is_essential() == Some(true);
        let runs_on = subject.runs_until_the_end(other);
        if !(is_essential || runs_on) || is_elsewhere || is_itself(container, other) {
            continue;
        }
        let (label, awaited) = (container.label(), other.label());
        let why = if is_essential { "is essential" } else { "runs as long as the task" };
        let message = format!("{label} waits for the end of {awaited} ({condition}), which {why}");
        let has_check = other.has_health_check() == Some(true) || subject.must_be_checked(other);
        let help = match (runs_on, has_check) {
            (true, true) => "wait for HEALTHY".to_owned(),
            (true, false) => "remove the dependency, or wait for START".to_owned(),
            (false, true) => format!("set essential to false on {awaited}, or wait for HEALTHY"),
            (false, false) => format!("set essential to false on {awaited}, or wait for START"),
        };
        let fix = Fix::set(&dependency.condition.place, "HEALTHY").filter(|_| runs_on && has_check);
        let draft = Draft::new(dependency.condition.span(), message, help).of(container).fix(fix);
        let essential = if other.essential.is_absent() { "essential by default" } else { "essential" };
        let draft = if is_essential { draft.note(other.essential.span(), essential) } else { draft.effect(NEVER) };
        findings.add(draft);
    }
}

const NEVER: &str = "the container never starts, and the task stays PENDING";

fn is_itself(one: &Container, other: &Container) -> bool {
    std::ptr::eq(one, other)
}

pub(super) static ECS_DEPENDENCY_HEALTH: Rule =
    Rule::of_task(page!("ecs-dependency-health"), Applies::EveryTask, check_dependency_health);

fn check_dependency_health(subject: &Subject<'_>, findings: &mut Findings) {
    for (container, dependency, other) in subject.order().pairs() {
        if dependency.condition.text() != Some("HEALTHY")
            || other.has_health_check() != Some(false)
            || subject.must_be_checked(other)
            || subject.must_wait_for(container, other)
        {
            continue;
        }
        let (label, awaited) = (container.label(), other.label());
        let message = format!("{label} waits until {awaited} is healthy, but {awaited} has no health check");
        let help = format!("give {awaited} a healthCheck, or wait for START");
        let draft = Draft::new(dependency.condition.span(), message, help).of(container);
        findings.add(draft.note(other.span(), "has no health check"));
    }
}

pub(super) static ECS_DEPENDENCY_UNKNOWN: Rule =
    Rule::of_task(page!("ecs-dependency-unknown"), Applies::EveryTask, check_dependency_unknown);

/// The maximum number of containers that the help lists: the API accepts ten.
const SHOWN: usize = 10;

fn check_dependency_unknown(subject: &Subject<'_>, findings: &mut Findings) {
    let containers = &subject.definition.containers.items;
    for container in containers {
        let sources = container.volumes_from.items.iter().map(|source| (source, "takes the volumes of"));
        // In another mode, ECS refuses all links.
        let mode = &subject.definition.network_mode;
        let has_links = mode.is_absent() || mode.text() == Some("bridge");
        let links = container.links.items.iter().filter(|_| has_links).map(|link| (link, "has a link to"));
        for (field, what) in sources.chain(links) {
            // A link may have an alias: `cache:redis`.
            let Some(name) = field.text().and_then(|text| text.split(':').next()) else { continue };
            if matches!(subject.order().container(name), Maybe::Absent) {
                let message = format!("{} {what} {name}, which does not exist", container.label());
                let help = "write the name of another container of the definition, or remove it";
                findings.add(Draft::new(field.span(), message, help).of(container));
            }
        }
        for dependency in &container.depends_on.items {
            let Some(name) = dependency.container.text() else { continue };
            if matches!(subject.order().container(name), Maybe::Absent) && !subject.misses(name) {
                let message = format!("{} waits for {name}, which does not exist", container.label());
                let others = || containers.iter().filter(|other| !is_itself(container, other));
                let names = others().filter_map(|other| other.name.text()).take(MOST_COMPARED);
                let help = match nearest(name, names) {
                    Some(meant) => format!("did you mean {meant}?"),
                    None => format!("use one of {}, or remove the dependency", known(others())),
                };
                findings.add(Draft::new(dependency.container.span(), message, help).of(container));
            }
        }
    }
}

/// The names of the first containers.
fn known<'d>(containers: impl Iterator<Item = &'d Container>) -> String {
    let mut containers = containers.map(Container::label);
    let mut shown: Vec<String> = containers.by_ref().take(SHOWN).collect();
    shown.extend(containers.next().map(|_| "…".to_owned()));
    shown.join(", ")
}

/// The default interval of health checks, in seconds.
const DEFAULT_INTERVAL: u64 = 30;
/// The interval within the start period in newer container runtimes, in seconds.
const START_INTERVAL: u64 = 5;

const FARGATE_MINIMUM: u64 = 2;

pub(super) static ECS_START_TIMEOUT_TOO_SHORT: Rule =
    Rule::of_task(page!("ecs-start-timeout-too-short"), Applies::EveryTask, check_start_timeout_too_short);

fn check_start_timeout_too_short(subject: &Subject<'_>, findings: &mut Findings) {
    for container in &subject.definition.containers.items {
        let first_check = container.health_check.known().and_then(first_check);
        let (Some(timeout), Some(first_check)) = (container.start_timeout.known(), first_check) else { continue };
        // Another rule reports values that Fargate refuses.
        if *timeout < FARGATE_MINIMUM && subject.definition.runs_on_fargate() {
            continue;
        }
        let Some(waiting) = waiting_for(subject, container).filter(|_| *timeout < first_check) else { continue };
        let label = container.label();
        let message = format!(
            "{} waits at most {timeout} seconds until {label} is healthy, but its first health check runs after {first_check}",
            waiting.label()
        );
        let help = format!("raise the startTimeout of {label} well above {first_check}, or remove it");
        findings.add(Draft::new(container.start_timeout.span(), message, help).of(container));
    }
}

/// The earliest second at which a check can pass.
fn first_check(check: &ContainerHealthCheck) -> Option<u64> {
    let interval = check.interval.or(DEFAULT_INTERVAL)?;
    let has_start_period = check.start_period.or(0)? > 0;
    Some(if has_start_period { interval.min(START_INTERVAL) } else { interval })
}

fn waiting_for<'d>(subject: &Subject<'d>, container: &Container) -> Option<&'d Container> {
    let mut waiting = subject.order().waiting_for(container);
    waiting.find(|(_, dependency)| dependency.condition.text() == Some("HEALTHY")).map(|(other, _)| other)
}

pub(super) static ECS_START_TIMEOUT_UNUSED: Rule =
    Rule::of_task(page!("ecs-start-timeout-unused"), Applies::EveryTask, check_start_timeout_unused);

fn check_start_timeout_unused(subject: &Subject<'_>, findings: &mut Findings) {
    let (containers, order) = (&subject.definition.containers, subject.order());
    let has_timeout = |dependency: &Dependency| dependency.condition.text() != Some("START");
    // A dependency on an unknown container may be one on any of them.
    let is_unclear = !containers.is_complete
        || containers.items.iter().any(|other| !other.depends_on.is_complete)
        || order.waits().flatten().any(|(dependency, on)| on.is_none() && has_timeout(dependency));
    for container in containers.items.iter().filter(|container| container.name.text().is_some() && !is_unclear) {
        let Some(timeout) = container.start_timeout.known() else { continue };
        if order.waiting_for(container).any(|(_, dependency)| has_timeout(dependency)) {
            continue;
        }
        let label = container.label();
        let message = format!(
            "the startTimeout of {label} ({timeout}) has no effect: no container waits until {label} stops or is healthy"
        );
        let draft = Draft::new(container.start_timeout.span(), message, "set it on the dependency");
        findings.add(draft.of(container).fix(Fix::remove(&container.start_timeout.place)));
    }
}

/// The minimum and the maximum on Fargate, in seconds.
const RANGE: std::ops::RangeInclusive<u64> = 2..=120;

pub(super) static ECS_TIMEOUT_RANGE: Rule =
    Rule::of_task(page!("ecs-timeout-range"), Applies::EveryTask, check_timeout_range);

fn check_timeout_range(subject: &Subject<'_>, findings: &mut Findings) {
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
