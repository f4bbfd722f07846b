//! The start: a container starts one step after the last of its dependencies.

use petgraph::{algo::kosaraju_scc, graph::DiGraph};

use super::model::{Event, Lane, Part, Starting, push};
use crate::subject::{ConsulTask, Subject, is_xray_daemon};
use audit_read::definition::{Container, DEFAULT_STOP_TIMEOUT, Dependency, Field, Maybe, TaskDefinition, Text};

/// When each container starts, and its dependencies.
pub(super) struct Starts {
    starts: Vec<Starting>,
    /// The dependencies of each container.
    pub(super) waits: Vec<Vec<Wait>>,
}

/// A dependency of a container.
pub(super) struct Wait {
    /// The index of the other container, if it exists.
    pub(super) on: Option<usize>,
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
pub(super) fn events(lanes: &[Lane]) -> Vec<Vec<Event>> {
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
