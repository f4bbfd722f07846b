//! The steps of a task. A container starts one step after the last of its dependencies. ECS stops containers in the reverse
//! order: a container gets TERM after the containers that waited for it have exited.

use petgraph::{algo::kosaraju_scc, graph::DiGraph};

use super::{Event, Lane, Part, Starting, push};
use crate::subject::{ConsulTask, Subject, is_xray_daemon};
use audit_read::definition::{Container, DEFAULT_STOP_TIMEOUT, Dependency, Field, Maybe, TaskDefinition, Text};

/// When each container starts, and its dependencies.
pub(super) struct Starts {
    starts: Vec<Starting>,
    /// The dependencies of each container.
    waits: Vec<Vec<Wait>>,
}

/// A dependency of a container.
struct Wait {
    /// The index of the other container, if it exists.
    on: Option<usize>,
    name: String,
    condition: String,
    is_known: bool,
}

impl Starts {
    pub(super) fn of(definition: &TaskDefinition) -> Self {
        let containers = &definition.containers.items;
        let waits: Vec<Vec<Wait>> = containers
            .iter()
            .map(|container| container.depends_on.items.iter().map(|dependency| wait(definition, dependency)).collect())
            .collect();
        let mut starts = Self { starts: vec![Starting::At(0); containers.len()], waits };
        let mut graph = DiGraph::<usize, ()>::new();
        let nodes: Vec<_> = (0..containers.len()).map(|index| graph.add_node(index)).collect();
        for (from, waits) in nodes.iter().zip(&starts.waits) {
            for to in waits.iter().filter_map(|wait| nodes.get(wait.on?)) {
                graph.add_edge(*from, *to, ());
            }
        }
        // Dependencies come before the containers that wait for them.
        for group in kosaraju_scc(&graph) {
            let members: Vec<usize> = group.iter().filter_map(|node| graph.node_weight(*node).copied()).collect();
            let waits_for_itself =
                group.len() > 1 || group.first().is_some_and(|node| graph.contains_edge(*node, *node));
            for member in &members {
                let starting = if waits_for_itself {
                    cycle(containers, &members, *member)
                } else {
                    starts.after(*member, containers)
                };
                if let Some(slot) = starts.starts.get_mut(*member) {
                    *slot = starting;
                }
            }
        }
        starts
    }

    /// One step after the last of its dependencies.
    fn after(&self, index: usize, containers: &[Container]) -> Starting {
        let complete = containers.get(index).is_some_and(|container| container.depends_on.is_complete);
        let mut step = 0;
        let mut is_certain = complete;
        for wait in self.waits.get(index).into_iter().flatten() {
            match wait.on.and_then(|on| self.starts.get(on)) {
                None if wait.is_known => return Starting::Never(format!("{} is not there", wait.name)),
                None => is_certain = false,
                Some(Starting::Never(_)) => return Starting::Never(format!("{} never starts", wait.name)),
                Some(Starting::At(before)) => step = step.max(before + 1),
                Some(Starting::NotBefore(before)) => {
                    step = step.max(before + 1);
                    is_certain = false;
                }
            }
        }
        if is_certain { Starting::At(step) } else { Starting::NotBefore(step) }
    }

    /// The first step in which another container starts because this one has ended.
    fn end_of(&self, index: usize) -> Option<usize> {
        let waiting = self.waits.iter().zip(&self.starts);
        let after_its_end = waiting.filter(|(waits, _)| {
            waits.iter().any(|wait| wait.on == Some(index) && matches!(wait.condition.as_str(), "SUCCESS" | "COMPLETE"))
        });
        let own = self.starts.get(index)?.step()?;
        let first = after_its_end.filter_map(|(_, starting)| starting.step()).min()?;
        Some(first.max(own + 1))
    }

    pub(super) fn lane(&self, index: usize, container: &Container, subject: &Subject<'_>) -> Lane {
        let waits = self.waits.get(index).into_iter().flatten();
        Lane {
            container: container.label(),
            part: part(container, subject),
            starts: self.starts.get(index).cloned().unwrap_or(Starting::At(0)),
            waits_for: waits.map(|wait| format!("{} {}", wait.name, wait.condition)).collect(),
            ends: self.end_of(index),
            stops: None,
            stopping: "",
            stop_timeout: container.stop_timeout.or(DEFAULT_STOP_TIMEOUT),
        }
    }
}

fn wait(definition: &TaskDefinition, dependency: &Dependency) -> Wait {
    let containers = &definition.containers;
    let name = dependency.container.text();
    let on = name.and_then(|name| containers.items.iter().position(|container| container.is_called(name)));
    let may_be_hidden = !containers.is_complete || containers.items.iter().any(|other| other.name.text().is_none());
    Wait {
        on,
        name: shown(&dependency.container),
        condition: shown(&dependency.condition),
        is_known: name.is_some() && !may_be_hidden,
    }
}

fn shown(field: &Field<Text>) -> String {
    match &field.value {
        Maybe::Known(text) => text.shown(),
        Maybe::Absent => "(missing)".to_owned(),
        Maybe::Unknown => "(unknown)".to_owned(),
    }
}

fn cycle(containers: &[Container], members: &[usize], member: usize) -> Starting {
    let label = |index: &usize| containers.get(*index).map_or_else(String::new, Container::label);
    let others: Vec<String> = members.iter().filter(|other| **other != member).map(label).collect();
    Starting::Never(match others.as_slice() {
        [] => "it waits for itself".to_owned(),
        others => format!("it and {} wait for each other", others.join(", ")),
    })
}

fn part(container: &Container, subject: &Subject<'_>) -> Part {
    let is = |other: &&Container| std::ptr::eq(*other, container);
    let consul = subject.consul.as_ref();
    let app_mesh = subject.app_mesh.as_ref();
    let proxies = [consul.and_then(ConsulTask::proxy), app_mesh.and_then(|mesh| mesh.envoy)];
    if proxies.iter().flatten().any(is) {
        return Part::Proxy;
    }
    let is_app = match consul {
        Some(consul) => consul.apps.iter().any(is),
        None => !is_xray_daemon(container),
    };
    if is_app { Part::App } else { Part::Helper }
}

/// The events of each step.
pub(super) fn start_order(lanes: &[Lane]) -> Vec<Vec<Event>> {
    let mut steps: Vec<Vec<Event>> = Vec::new();
    for (index, lane) in lanes.iter().enumerate() {
        if let Some(end) = lane.ends {
            push(&mut steps, end, index, "has ended".to_owned());
        }
    }
    for (index, lane) in lanes.iter().enumerate() {
        let Some(step) = lane.starts.step() else { continue };
        let verb = if matches!(lane.starts, Starting::NotBefore(_)) { "starts at the earliest" } else { "starts" };
        let what = match lane.waits_for.as_slice() {
            [] => verb.to_owned(),
            waits => format!("{verb}, after {}", waits.join(" and ")),
        };
        push(&mut steps, step, index, what);
    }
    steps
}

/// Sets the stop of each lane, and returns the events of each step.
pub(super) fn stop_order(lanes: &mut [Lane], subject: &Subject<'_>, starts: &Starts) -> Vec<Vec<Event>> {
    let terms = terms(lanes, starts);
    let mut steps = stops(lanes, &terms, subject);
    steps.push(vec![Event { lane: None, what: "is STOPPED for ECS, if all containers have exited".to_owned() }]);
    steps.push(kills(lanes));
    steps
}

/// Whether it still runs when the task stops.
fn is_running(lane: &Lane) -> bool {
    lane.starts.step().is_some() && lane.ends.is_none()
}

/// The step in which each lane gets TERM, if it still runs. Source:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDependency.html>
fn terms(lanes: &[Lane], starts: &Starts) -> Vec<Option<usize>> {
    let mut order: Vec<usize> = (0..lanes.len()).filter(|index| lanes.get(*index).is_some_and(is_running)).collect();
    // A container that waits starts later: its own step is final before its dependencies' steps are computed.
    order.sort_by_key(|index| std::cmp::Reverse(lanes.get(*index).and_then(|lane| lane.starts.step())));
    let mut terms: Vec<Option<usize>> = lanes.iter().map(|lane| is_running(lane).then_some(0)).collect();
    for index in order {
        let own = terms.get(index).copied().flatten().unwrap_or_default();
        for on in starts.waits.get(index).into_iter().flatten().filter_map(|wait| wait.on) {
            if let Some(Some(term)) = terms.get_mut(on) {
                *term = (*term).max(own + 1);
            }
        }
    }
    terms
}

/// The events of each lane between TERM and its exit.
fn stops(lanes: &mut [Lane], terms: &[Option<usize>], subject: &Subject<'_>) -> Vec<Vec<Event>> {
    let containers = &subject.definition.containers.items;
    // The last step in which an app still runs.
    let last_app = lanes.iter().zip(terms).filter_map(|(lane, term)| term.filter(|_| lane.part == Part::App)).max();
    let mut steps = Vec::new();
    for (index, ((lane, container), term)) in lanes.iter_mut().zip(containers).zip(terms).enumerate() {
        let Some(term) = *term else { continue };
        let outlives = last_app.filter(|last| *last >= term);
        let Some(consul) = &subject.consul else {
            lane.stops = Some((term, term + 1));
            lane.stopping = "finishes its work";
            push(&mut steps, term, index, "gets TERM".to_owned());
            push(&mut steps, term + 1, index, "has exited".to_owned());
            continue;
        };
        let (gone, stopping, left) = in_consul(consul, container, term, outlives);
        lane.stops = Some((term, gone));
        lane.stopping = stopping;
        push(&mut steps, term, index, format!("gets TERM: {stopping}"));
        push(&mut steps, gone, index, left.to_owned());
    }
    steps
}

/// The step in which a container of Consul's mesh exits, what it does until then, and how it exits. `outlives` is the
/// last step in which an app runs, if that is after TERM:
/// <https://developer.hashicorp.com/consul/docs/ecs/architecture>
fn in_consul(
    consul: &ConsulTask<'_>,
    container: &Container,
    term: usize,
    outlives: Option<usize>,
) -> (usize, &'static str, &'static str) {
    let is = |other: Option<&Container>| other.is_some_and(|other| std::ptr::eq(other, container));
    if is(consul.client) {
        (term + 1, "leaves the cluster", "has left the cluster and exits")
    } else if is(consul.health_sync) {
        (term + 1, "stops syncing", "sets its checks critical and exits")
    } else if is(consul.proxy()) {
        match outlives {
            Some(last) => (last + 1, "ignores TERM, serves the app", "sees that the app is gone, and exits"),
            None => (term + 1, "ends its connections", "exits"),
        }
    } else if is(consul.control_plane) {
        (term + 1, "stops syncing", "deregisters the service and exits")
    } else {
        (term + 1, "finishes its requests", "has exited")
    }
}

fn kills(lanes: &[Lane]) -> Vec<Event> {
    let left = lanes.iter().enumerate().filter(|(_, lane)| lane.stops.is_some());
    let kill = |(index, lane): (usize, &Lane)| {
        let after = lane.stop_timeout.map_or_else(|| "its stopTimeout".to_owned(), |seconds| format!("{seconds} s"));
        Event { lane: Some(index), what: format!("gets KILL if it still runs {after} after TERM") }
    };
    left.map(kill).collect()
}
