//! Tasks that do not start because a container is unhealthy.

use std::{fmt, time::Duration};

use jiff::Timestamp;
use mesh::{
    definition::LONGEST_START,
    member::MemberTask,
    task::{ContainerHealth, TaskContainer},
};

/// A task that has not started, with a container that ECS calls `UNHEALTHY`. That is no start: ECS says so after all retries of the
/// health check. It neither replaces such a task nor sends an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldUp<'a> {
    pub(crate) unhealthy: &'a str,
    /// A container that waits for it.
    waiting: Option<&'a str>,
    ends: Option<GivesUp>,
}

/// When ECS stops the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GivesUp {
    /// The `startTimeout` of the container.
    After(Duration),
    About(Timestamp),
}

impl<'a> HeldUp<'a> {
    pub(crate) fn of(member: &'a MemberTask) -> Option<Self> {
        let MemberTask { task, definition, .. } = member;
        let is_unhealthy = |it: &&TaskContainer| it.health == ContainerHealth::Unhealthy && !it.is_stopped;
        let unhealthy = task.containers.iter().filter(|_| !task.is_running()).find(is_unhealthy)?.name.as_str();
        let waits = |name: &String| name == unhealthy;
        let waiting = definition.containers.iter().find(|container| container.waits_for.iter().any(waits));
        let limit = waiting.and_then(|_| definition.container(unhealthy)?.start_timeout).map(GivesUp::After);
        let last = task.end.created_at.and_then(|at| at.checked_add(LONGEST_START).ok()).map(GivesUp::About);
        Some(Self { unhealthy, waiting: waiting.map(|container| container.name.as_str()), ends: limit.or(last) })
    }
}

/// For example `its container app waits for consul-dataplane, which is UNHEALTHY; ECS gives up about 2026-11-20 10:00 UTC`.
impl fmt::Display for HeldUp<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.waiting {
            Some(waiting) => write!(f, "its container {waiting} waits for {}, which is UNHEALTHY", self.unhealthy)?,
            None => write!(f, "its container {} is UNHEALTHY, and the task has not started", self.unhealthy)?,
        }
        match self.ends {
            Some(GivesUp::After(limit)) => write!(f, "; ECS gives up after its startTimeout of {} s", limit.as_secs()),
            Some(GivesUp::About(at)) => write!(f, "; ECS gives up about {}", at.strftime("%Y-%m-%d %H:%M UTC")),
            None => Ok(()),
        }
    }
}
