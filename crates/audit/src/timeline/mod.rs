//! The order in which a task's containers start and stop: as data, and drawn.

mod order;
mod svg;
#[cfg(test)]
mod tests;
mod text;

use self::order::{Starts, start_order, stop_order};
pub use self::svg::STYLE;
use crate::subject::Subject;
use audit_read::definition::{Container, Dependency, TaskDefinition};

/// The start and the stop of a task, in steps.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// The name of the task definition.
    pub name: String,
    /// Its containers, in the order of the definition.
    pub lanes: Vec<Lane>,
    /// The events at T0, T1… of the start.
    pub start: Vec<Vec<TimelineEvent>>,
    /// The events at T0, T1… of the stop. The second last step is the status STOPPED, the last one is KILL.
    pub stop: Vec<Vec<TimelineEvent>>,
    /// The waits that nothing limits, as phrases: `web waits for consul-dataplane`.
    pub unlimited: Vec<String>,
    /// Whether there are certainly no other containers.
    pub is_complete: bool,
}

/// A container in a timeline.
#[derive(Debug, Clone)]
pub struct Lane {
    /// The name of the container.
    pub container: String,
    /// Its purpose.
    pub part: Part,
    /// When it starts, or why it does not.
    pub starts: Starting,
    /// Its dependencies: `consul-dataplane HEALTHY`.
    pub waits_for: Vec<String>,
    /// The step of the start before which it has ended, if it ends by itself.
    pub ends: Option<usize>,
    /// Whether ECS stops the task when it ends by itself: it is essential.
    pub ends_the_task: bool,
    /// The steps of the stop in which it gets TERM and in which it has exited.
    pub stops: Option<(usize, usize)>,
    /// What it does between the two.
    pub stopping: &'static str,
    /// What it does before it exits.
    pub leaving: &'static str,
    /// Seconds between TERM and KILL; `None` if it is known only at deployment.
    pub stop_timeout: Option<u64>,
}

/// The purpose of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// An app: the reason for the task.
    App,
    Proxy,
    /// Prepares, monitors or connects the others.
    Helper,
}

/// When a container starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Starting {
    /// In this step.
    At(usize),
    /// Not before this step: some of its dependencies are unknown.
    NotBefore(usize),
    /// Never, for this reason.
    Never(String),
}

impl Starting {
    /// The step, if there is one.
    pub fn step(&self) -> Option<usize> {
        match self {
            Self::At(step) | Self::NotBefore(step) => Some(*step),
            Self::Never(_) => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineEvent {
    /// The lane; `None` if it concerns the task.
    pub lane: Option<usize>,
    /// The event, as a phrase that follows the container's name.
    pub what: String,
}

impl Timeline {
    pub fn of(definition: &TaskDefinition) -> Self {
        let subject = Subject::new(definition);
        let starts = Starts::of(&subject);
        let mut lanes: Vec<Lane> = definition
            .containers
            .items
            .iter()
            .enumerate()
            .map(|(index, container)| starts.lane(index, container, &subject))
            .collect();
        let start = start_order(&lanes);
        let stop = stop_order(&mut lanes, &subject, &starts);
        let is_complete = definition.containers.is_complete;
        Self { name: definition.label(), lanes, start, stop, unlimited: unlimited_waits(&subject), is_complete }
    }

    /// The containers that never start, and why.
    pub fn stuck(&self) -> impl Iterator<Item = (&Lane, &str)> {
        self.lanes.iter().filter_map(|lane| match &lane.starts {
            Starting::Never(reason) => Some((lane, reason.as_str())),
            Starting::At(_) | Starting::NotBefore(_) => None,
        })
    }

    /// Replaces every text by the result of `rewrite`.
    pub fn reword(&mut self, rewrite: impl Fn(&str) -> String) {
        let mut reword = |text: &mut String| *text = rewrite(text);
        reword(&mut self.name);
        for lane in &mut self.lanes {
            reword(&mut lane.container);
            lane.waits_for.iter_mut().for_each(&mut reword);
            if let Starting::Never(reason) = &mut lane.starts {
                reword(reason);
            }
        }
        self.unlimited.iter_mut().for_each(&mut reword);
        self.start.iter_mut().chain(&mut self.stop).flatten().for_each(|event| reword(&mut event.what));
    }

    fn name_of(&self, event: &TimelineEvent) -> &str {
        event.lane.and_then(|lane| self.lanes.get(lane)).map_or("the task", |lane| lane.container.as_str())
    }
}

/// The waits for a container to be healthy that has no `startTimeout`.
fn unlimited_waits(subject: &Subject<'_>) -> Vec<String> {
    let is_unlimited = |dependency: &Dependency, awaited: &Container| {
        dependency.condition.text() == Some("HEALTHY") && awaited.start_timeout.is_absent()
    };
    let waits = subject.order().pairs().filter(|(_, dependency, awaited)| is_unlimited(dependency, awaited));
    waits.map(|(container, _, awaited)| format!("{} waits for {}", container.label(), awaited.label())).collect()
}

/// Adds an event of a lane to a step.
fn push(steps: &mut Vec<Vec<TimelineEvent>>, step: usize, lane: usize, what: String) {
    if steps.len() <= step {
        steps.resize_with(step + 1, Vec::new);
    }
    if let Some(events) = steps.get_mut(step) {
        events.push(TimelineEvent { lane: Some(lane), what });
    }
}
