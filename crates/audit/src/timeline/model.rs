//! A timeline as data.

/// A task's life, in steps.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// What the task definition is called.
    pub name: String,
    /// Its containers, in the order of the definition.
    pub lanes: Vec<Lane>,
    /// What happens at T0, T1… when a task starts.
    pub start: Vec<Vec<Event>>,
    /// What happens at T0, T1… when a task stops; in the last two steps the task has stopped, and KILL gets the rest.
    pub stop: Vec<Vec<Event>>,
    /// Whether there are certainly no other containers.
    pub is_complete: bool,
}

/// A container over time.
#[derive(Debug, Clone)]
pub struct Lane {
    /// The container.
    pub container: String,
    /// What it is for.
    pub part: Part,
    /// When it starts, or why it never does.
    pub starts: Starting,
    /// What it waits for, in words: `consul-dataplane HEALTHY`.
    pub waits_for: Vec<String>,
    /// The step of the start at whose beginning it has ended, where something waits for its end.
    pub ends: Option<usize>,
    /// The step of the stop in which TERM reaches it, and the one in which it is gone.
    pub stops: Option<(usize, usize)>,
    /// What it does between the two.
    pub stopping: &'static str,
    /// Seconds between TERM and KILL; `None` where only a deployment can tell.
    pub stop_timeout: Option<u64>,
}

/// What a container is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What the task is there for.
    App,
    /// The proxy.
    Proxy,
    /// Prepares the others, watches over them, or connects them.
    Helper,
}

/// When a container starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Starting {
    /// In this step.
    At(usize),
    /// Not before this step: what it waits for is not all known.
    NotBefore(usize),
    /// Never, because.
    Never(String),
}

impl Starting {
    /// The step, if there is one.
    #[must_use]
    pub fn step(&self) -> Option<usize> {
        match self {
            Self::At(step) | Self::NotBefore(step) => Some(*step),
            Self::Never(_) => None,
        }
    }
}

/// Something that happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// To which lane; none where it is the whole task's.
    pub lane: Option<usize>,
    /// What, as a phrase that follows the container's name.
    pub what: String,
}

impl Timeline {
    /// The containers that never start, and why.
    pub fn stuck(&self) -> impl Iterator<Item = (&Lane, &str)> {
        self.lanes.iter().filter_map(|lane| match &lane.starts {
            Starting::Never(reason) => Some((lane, reason.as_str())),
            Starting::At(_) | Starting::NotBefore(_) => None,
        })
    }

    /// Puts every text through `said`.
    pub fn reword(&mut self, said: impl Fn(&str) -> String) {
        let mut reword = |text: &mut String| *text = said(text);
        reword(&mut self.name);
        for lane in &mut self.lanes {
            reword(&mut lane.container);
            lane.waits_for.iter_mut().for_each(&mut reword);
            if let Starting::Never(reason) = &mut lane.starts {
                reword(reason);
            }
        }
        self.start.iter_mut().chain(&mut self.stop).flatten().for_each(|event| reword(&mut event.what));
    }

    pub(super) fn name_of(&self, event: &Event) -> &str {
        event.lane.and_then(|lane| self.lanes.get(lane)).map_or("the task", |lane| lane.container.as_str())
    }
}

/// Adds what happens to a lane in a step.
pub(super) fn push(steps: &mut Vec<Vec<Event>>, step: usize, lane: usize, what: String) {
    if steps.len() <= step {
        steps.resize_with(step + 1, Vec::new);
    }
    if let Some(events) = steps.get_mut(step) {
        events.push(Event { lane: Some(lane), what });
    }
}
