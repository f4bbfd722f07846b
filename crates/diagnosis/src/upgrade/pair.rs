//! The releases that tasks are updated to.

use std::fmt;

use audit::versions::{FIRST_WITH_DATAPLANE, Line, Program, newest_for, newest_pair_for};
use semver::Version;

use super::fit::{Kind, Releases};

/// Releases of consul-ecs and, except with a client agent, Consul Dataplane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) consul_ecs: &'static Version,
    pub(super) dataplane: Option<&'static Version>,
}

impl Pair {
    /// The newest releases of consul-ecs and Consul Dataplane that go with all of these lines of Consul.
    pub(super) fn of_dataplane(consul: &[Line]) -> Option<Self> {
        let (consul_ecs, dataplane) = newest_pair_for(consul, FIRST_WITH_DATAPLANE)?;
        Some(Self { consul_ecs, dataplane: Some(dataplane) })
    }

    /// The newest release of consul-ecs with a client agent that goes with all of these lines of Consul.
    pub(super) fn of_client_agent(consul: &[Line]) -> Option<Self> {
        let consul_ecs = newest_for(Program::ConsulEcs, consul, ..FIRST_WITH_DATAPLANE)?;
        Some(Self { consul_ecs, dataplane: None })
    }

    /// The newest releases for a line of Consul, with the newest Consul Dataplane that goes with another as well.
    pub(super) fn of_dataplane_across(consul: Line, other: Line) -> Option<Self> {
        let consul_ecs = newest_for(Program::ConsulEcs, &[consul], FIRST_WITH_DATAPLANE..)?;
        Some(Self { consul_ecs, dataplane: Some(newest_for(Program::Dataplane, &[consul, other], ..)?) })
    }

    /// The newest releases that go with all of these lines of Consul: tasks with a client agent move to Consul Dataplane as soon as
    /// they can.
    pub(super) fn newest(consul: &[Line]) -> Option<Self> {
        Self::of_dataplane(consul).or_else(|| Self::of_client_agent(consul))
    }

    /// The releases for tasks like these.
    pub(super) fn for_tasks(tasks: &Releases, consul: &[Line]) -> Option<Self> {
        Self::newest(consul).filter(|pair| pair.is_for(tasks.kind))
    }

    /// Whether tasks of this kind can have them: no task goes back to a client agent.
    pub(super) fn is_for(&self, kind: Kind) -> bool {
        kind != Kind::Dataplane || self.dataplane.is_some()
    }

    /// The releases of a revision that has them.
    pub(super) fn releases(&self) -> Releases {
        Releases::with(self.programs())
    }

    /// The programs and their releases.
    pub(super) fn programs(&self) -> impl Iterator<Item = (Program, &'static Version)> {
        let dataplane = self.dataplane.map(|release| (Program::Dataplane, release));
        [(Program::ConsulEcs, self.consul_ecs)].into_iter().chain(dataplane)
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let programs: Vec<String> = self.programs().map(|(program, release)| format!("{program} {release}")).collect();
        f.write_str(&programs.join(" and "))
    }
}
