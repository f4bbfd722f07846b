//! Running tasks that cannot be repaired from outside, and which of them may be replaced.

use std::time::Duration;

use jiff::Timestamp;

use crate::{
    definition::DATAPLANE,
    repair::TaskFacts,
    task::{ContainerHealth, DescribedTask},
    time::elapsed,
};

/// How long after the start of its containers a task has logged in.
const LOGIN_TIME: Duration = Duration::from_mins(5);
/// The largest part of the tasks of an ECS service that is replaced at a time: one in four, and at least one.
const REPLACED_AT_A_TIME: usize = 4;

/// Why a running task is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Connections to it fail.
    #[error("its container consul-dataplane has stopped")]
    ProxyStopped,
    /// Its proxy gets no new endpoints, and its health-sync cannot write.
    #[error("Consul has none of its login tokens")]
    NoTokens,
    /// Its proxy or its health-sync does not work.
    #[error("Consul has only one of its two login tokens, so that its proxy or its health-sync does not work")]
    OneToken,
}

impl Broken {
    /// What to do.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Self::ProxyStopped | Self::NoTokens => "replace the task, which ReplaceBrokenTasks does",
            Self::OneToken => "replace the task",
        }
    }
}

/// An ECS service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceCounts {
    /// How many tasks it wants.
    pub desired: usize,
    /// How many running ones are broken.
    pub broken: usize,
    /// How many running ones work in the mesh.
    pub healthy: usize,
}

impl TaskFacts<'_> {
    /// Why the task is broken, if it is. Consul has `tokens` of its login tokens; `None` if that is not known. Nothing is
    /// said of a task that ECS has lost contact with.
    #[must_use]
    pub fn broken(&self, tokens: Option<usize>, now: Timestamp) -> Option<Broken> {
        let (task, definition) = (self.task, self.definition);
        if !task.placement.is_running || task.placement.is_disconnected || definition.runs_client_agent() {
            return None;
        }
        if task.losses(definition).proxy {
            return Some(Broken::ProxyStopped);
        }
        let has_logged_in = task.placement.started_at.is_some_and(|at| elapsed(at, now) >= LOGIN_TIME);
        if !has_logged_in || !self.config().is_ok_and(|config| config.login().is_some()) {
            return None;
        }
        // The dataplane and the program that reports the health hold one each.
        match (tokens?, definition.programs.health_reporter().is_some()) {
            (0, _) => Some(Broken::NoTokens),
            (1, true) => Some(Broken::OneToken),
            _ => None,
        }
    }
}

/// Whether a running task that is not broken works in the mesh.
#[must_use]
pub fn is_healthy(task: &DescribedTask) -> bool {
    let dataplane = task.container(DATAPLANE).filter(|container| !container.is_stopped);
    task.placement.is_running
        && !task.placement.is_disconnected
        && dataplane.is_some_and(|container| container.health == ContainerHealth::Healthy)
}

/// Which of the broken tasks of an ECS service may be replaced now, in their order. Tasks that the service wants, but
/// that are neither broken nor healthy yet, count as being replaced. A task whose proxy still works is replaced only if
/// another one is healthy.
#[must_use]
pub fn replaceable<T>(broken: Vec<(T, Broken)>, service: ServiceCounts) -> Vec<(T, Broken)> {
    let starting = service.desired.saturating_sub(service.broken + service.healthy);
    let at_a_time = (service.desired / REPLACED_AT_A_TIME).max(1).saturating_sub(starting);
    let may_go = |(_, why): &(T, Broken)| match why {
        Broken::ProxyStopped => true,
        Broken::NoTokens => service.healthy > 0,
        Broken::OneToken => false,
    };
    broken.into_iter().filter(may_go).take(at_a_time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(broken: usize, why: Broken, desired: usize, healthy: usize) -> usize {
        replaceable(vec![((), why); broken], ServiceCounts { desired, broken, healthy }).len()
    }

    #[test]
    fn one_in_four_is_replaced_at_a_time_and_at_least_one() {
        use Broken::ProxyStopped;
        assert_eq!(replaced(9, ProxyStopped, 20, 11), 5);
        assert_eq!(replaced(2, ProxyStopped, 3, 1), 1);
        // Those that are starting count
        assert_eq!(replaced(9, ProxyStopped, 20, 8), 2);
        assert_eq!(replaced(2, ProxyStopped, 3, 0), 0);
    }

    #[test]
    fn last_task_whose_proxy_works_stays() {
        assert_eq!(replaced(1, Broken::NoTokens, 1, 0), 0);
        assert_eq!(replaced(1, Broken::NoTokens, 2, 1), 1);
        assert_eq!(replaced(1, Broken::ProxyStopped, 1, 0), 1, "it gets no traffic");
        assert_eq!(replaced(1, Broken::OneToken, 2, 1), 0, "it is only reported");
    }
}
