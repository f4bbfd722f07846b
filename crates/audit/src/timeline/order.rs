//! The steps of a task. A container starts one step after the last of its dependencies. ECS stops containers in the reverse
//! order: a container gets TERM after the containers that waited for it have exited.

use petgraph::{algo::kosaraju_scc, graph::DiGraph};

use super::{Lane, Part, Starting, TimelineEvent, push};
use crate::subject::{ConsulTask, Feature, Generation, Subject, is_xray_daemon};
use audit_read::definition::{Container, DEFAULT_STOP_TIMEOUT, Dependency, Field, Maybe, Text};

/// When each container starts, and its dependencies.
pub(super) struct Starts {
    starting: Vec<Starting>,
    /// The dependencies of each container.
    waits: Vec<Vec<Wait>>,
    /// For each container, those that wait for its end.
    after_the_end: Vec<Vec<usize>>,
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
    pub(super) fn of(subject: &Subject<'_>) -> Self {
        let all = &subject.definition.containers;
        let containers = &all.items;
        let may_be_hidden = !all.is_complete || containers.iter().any(|other| other.name.text().is_none());
        let waits = subject.order().waits();
        let waits = waits.map(|waits| waits.map(|(dependency, on)| wait(dependency, on, may_be_hidden)).collect());
        let waits: Vec<Vec<Wait>> = waits.collect();
        let mut after_the_end = vec![Vec::new(); containers.len()];
        for (index, wait) in
            waits.iter().enumerate().flat_map(|(index, waits)| waits.iter().map(move |wait| (index, wait)))
        {
            let awaited = wait.on.filter(|_| wait.is_for_the_end()).and_then(|on| after_the_end.get_mut(on));
            if let Some(waiting) = awaited {
                waiting.push(index);
            }
        }
        let mut starts = Self { starting: vec![Starting::At(0); containers.len()], waits, after_the_end };
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
                if let Some(slot) = starts.starting.get_mut(*member) {
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
            match wait.on.and_then(|on| self.starting.get(on)) {
                None if wait.is_known => return Starting::Never(format!("{} is not in the definition", wait.name)),
                None => is_certain = false,
                Some(_) if wait.is_for_the_end() && wait.is_essential(containers) => {
                    let reason = format!("ECS stops the task when the essential container {} ends", wait.name);
                    return Starting::Never(reason);
                }
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

    /// The step before which it has ended, if it is one that ends: another container waits for that, or it is mesh-init.
    fn end_of(&self, index: usize, is_mesh_init: bool) -> Option<usize> {
        let waiting = self.after_the_end.get(index).into_iter().flatten();
        let after_its_end: Vec<&Starting> = waiting.filter_map(|waiting| self.starting.get(*waiting)).collect();
        let own = self.starting.get(index)?.step()?;
        if after_its_end.is_empty() && !is_mesh_init {
            return None;
        }
        let first = after_its_end.iter().filter_map(|starting| starting.step()).min().unwrap_or_default();
        Some(first.max(own + 1))
    }

    pub(super) fn lane(&self, index: usize, container: &Container, subject: &Subject<'_>) -> Lane {
        let waits = self.waits.get(index).into_iter().flatten();
        let mesh_init = subject.consul.as_ref().and_then(|consul| consul.mesh_init);
        let ends = self.end_of(index, mesh_init.is_some_and(|mesh_init| std::ptr::eq(mesh_init, container)));
        Lane {
            container: container.label(),
            part: part(container, subject),
            starts: self.starting.get(index).cloned().unwrap_or(Starting::At(0)),
            waits_for: waits.map(|wait| format!("{} {}", wait.name, wait.condition)).collect(),
            ends,
            ends_the_task: ends.is_some() && container.is_essential() == Some(true),
            stops: None,
            stopping: "",
            leaving: "",
            stop_timeout: container.stop_timeout.or(DEFAULT_STOP_TIMEOUT),
        }
    }
}

impl Wait {
    /// Whether it waits until the other container has ended.
    fn is_for_the_end(&self) -> bool {
        matches!(self.condition.as_str(), "SUCCESS" | "COMPLETE")
    }

    fn is_essential(&self, containers: &[Container]) -> bool {
        self.on.and_then(|on| containers.get(on)).and_then(Container::is_essential) == Some(true)
    }
}

fn wait(dependency: &Dependency, on: Option<usize>, may_be_hidden: bool) -> Wait {
    Wait {
        on,
        name: shown(&dependency.container),
        condition: shown(&dependency.condition),
        is_known: dependency.container.text().is_some() && !may_be_hidden,
    }
}

fn shown(field: &Field<Text>) -> String {
    match &field.value {
        Maybe::Known(text) => text.shown(),
        Maybe::Absent => "(missing)".to_owned(),
        Maybe::Unknown => "(unknown)".to_owned(),
    }
}

/// The most containers of a cycle that are named: ECS takes ten.
const SHOWN: usize = 10;

fn cycle(containers: &[Container], members: &[usize], member: usize) -> Starting {
    let label = |index: &usize| containers.get(*index).map_or_else(String::new, Container::label);
    let others = members.iter().filter(|other| **other != member);
    let mut shown: Vec<String> = others.clone().take(SHOWN).map(label).collect();
    if members.len() > SHOWN + 1 {
        shown.push("…".to_owned());
    }
    Starting::Never(match shown.as_slice() {
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
pub(super) fn start_order(lanes: &[Lane]) -> Vec<Vec<TimelineEvent>> {
    let mut steps: Vec<Vec<TimelineEvent>> = Vec::new();
    for (index, lane) in lanes.iter().enumerate() {
        if let Some(end) = lane.ends {
            let what =
                if lane.ends_the_task { "has ended, and ECS stops the task: it is essential" } else { "has ended" };
            push(&mut steps, end, index, what.to_owned());
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
pub(super) fn stop_order(lanes: &mut [Lane], subject: &Subject<'_>, starts: &Starts) -> Vec<Vec<TimelineEvent>> {
    let terms = terms(lanes, starts);
    let mut steps = stops(lanes, &terms, subject);
    steps
        .push(vec![TimelineEvent { lane: None, what: "is STOPPED for ECS, if all containers have exited".to_owned() }]);
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
fn stops(lanes: &mut [Lane], terms: &[Option<usize>], subject: &Subject<'_>) -> Vec<Vec<TimelineEvent>> {
    let containers = &subject.definition.containers.items;
    let running = || lanes.iter().zip(terms).filter_map(|(lane, term)| Some((lane.part, (*term)?)));
    let last_of = |part: Part| running().filter(|(own, _)| *own == part).map(|(_, term)| term).max();
    let last_app = last_of(Part::App);
    // A proxy that gets TERM before its app has exited waits for the app.
    let proxy_gone = last_of(Part::Proxy).map(|term| term.max(last_app.unwrap_or_default()) + 1);
    let mut steps = Vec::new();
    for (index, ((lane, container), term)) in lanes.iter_mut().zip(containers).zip(terms).enumerate() {
        let Some(term) = *term else { continue };
        let Some(consul) = &subject.consul else {
            lane.stops = Some((term, term + 1));
            lane.stopping = "finishes its work";
            push(&mut steps, term, index, "gets TERM".to_owned());
            push(&mut steps, term + 1, index, "exits".to_owned());
            continue;
        };
        let Stop { gone, stopping, leaving } = Stop::of(consul, container, term, last_app, proxy_gone);
        lane.stops = Some((term, gone));
        (lane.stopping, lane.leaving) = (stopping, leaving);
        push(&mut steps, term, index, format!("gets TERM: {stopping}"));
        push(&mut steps, gone, index, format!("{leaving}{}exits", if leaving.is_empty() { "" } else { " and " }));
    }
    steps
}

/// The end of a container of Consul's mesh.
struct Stop {
    /// The step in which it exits.
    gone: usize,
    /// What it does until then.
    stopping: &'static str,
    /// What it does last.
    leaving: &'static str,
}

impl Stop {
    /// `last_app` is the last step in which an app runs: <https://developer.hashicorp.com/consul/docs/ecs/architecture>
    fn of(
        consul: &ConsulTask<'_>,
        container: &Container,
        term: usize,
        last_app: Option<usize>,
        proxy_gone: Option<usize>,
    ) -> Self {
        let is = |other: Option<&Container>| other.is_some_and(|other| std::ptr::eq(other, container));
        let at_once = |stopping, leaving| Self { gone: term + 1, stopping, leaving };
        if is(consul.client) {
            at_once("leaves the cluster", "")
        } else if is(consul.health_sync) && consul.generation == Generation::Client {
            at_once("stops syncing", "sets its checks critical")
        } else if is(consul.health_sync) || is(consul.control_plane) {
            Self::of_health_sync(consul, term, proxy_gone)
        } else if is(consul.proxy()) {
            match last_app.filter(|last| *last >= term) {
                Some(last) => Self {
                    gone: last + 1,
                    stopping: "ignores TERM, serves the app",
                    leaving: "sees that the app is gone",
                },
                None => at_once("ends its connections", ""),
            }
        } else {
            at_once("finishes its requests", "")
        }
    }

    /// After TERM, it waits for the dataplane:
    /// <https://github.com/hashicorp/consul-ecs/blob/v0.8.1/subcommand/health-sync/command.go>
    fn of_health_sync(consul: &ConsulTask<'_>, term: usize, proxy_gone: Option<usize>) -> Self {
        let waits = proxy_gone.filter(|gone| *gone > term);
        let may_overwrite = consul.version().is_some_and(|version| Feature::SyncsAfterTerm.is_in(version));
        let stopping = match (waits, may_overwrite) {
            (None, _) => "sets its checks critical",
            (Some(_), false) => "sets its checks critical, waits for the proxy",
            (Some(_), true) => "sets its checks critical, may set them passing again",
        };
        let leaving = if consul.logs_in() == Some(true) { "deregisters, logs out" } else { "deregisters" };
        Self { gone: waits.unwrap_or(term) + 1, stopping, leaving }
    }
}

fn kills(lanes: &[Lane]) -> Vec<TimelineEvent> {
    let left = lanes.iter().enumerate().filter(|(_, lane)| lane.stops.is_some());
    let kill = |(index, lane): (usize, &Lane)| {
        let after = lane.stop_timeout.map_or_else(|| "its stopTimeout".to_owned(), |seconds| format!("{seconds} s"));
        TimelineEvent { lane: Some(index), what: format!("gets KILL if it still runs {after} after TERM") }
    };
    left.map(kill).collect()
}
