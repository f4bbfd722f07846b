//! The lines of Consul that the servers go through, and the releases of the tasks that go with both ends of a hop.

use audit::versions::{Line, Program, consul_of, lines_of, newest_of};
use semver::Version;

use super::fit::Releases;

/// How many lines an upgrade of the servers may advance:
/// <https://developer.hashicorp.com/consul/docs/upgrade/instructions>
const FURTHEST: usize = 2;

/// Releases of consul-ecs and Consul Dataplane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) consul_ecs: &'static Version,
    pub(super) dataplane: &'static Version,
}

impl Pair {
    /// The newest releases that go with all of these lines of Consul.
    pub(super) fn for_all(consul: &[Line]) -> Option<Self> {
        let newest = |program| {
            let fits = |line: &&Line| {
                let goes_with = consul_of(program, **line).unwrap_or_default();
                consul.iter().all(|line| goes_with.contains(line))
            };
            newest_of(program, *lines_of(program).iter().rev().find(fits)?)
        };
        Some(Self { consul_ecs: newest(Program::ConsulEcs)?, dataplane: newest(Program::Dataplane)? })
    }

    /// The releases of a revision that has them.
    pub(super) fn releases(self) -> Releases {
        Releases::with(Line::of(self.consul_ecs), Line::of(self.dataplane))
    }
}

/// An upgrade of the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hop {
    pub(super) from: Line,
    pub(super) to: Line,
    /// The releases that go with both lines; `None` if there are none.
    pub(super) both: Option<Pair>,
}

/// The way from one line to another: each hop as far as there are releases that go with both of its ends; else as far as
/// an upgrade may go. `known` are the lines of Consul, from the oldest to the newest.
pub(super) fn hops(known: &[Line], from: Line, target: Line) -> Vec<Hop> {
    let mut hops = Vec::new();
    let mut from = from;
    while from < target {
        let next = known.iter().copied().filter(|line| *line > from && *line <= target).take(FURTHEST);
        let candidates: Vec<Hop> = next.map(|to| Hop { from, to, both: Pair::for_all(&[from, to]) }).collect();
        let spanned = candidates.iter().rev().find(|hop| hop.both.is_some());
        let Some(hop) = spanned.or_else(|| candidates.last()) else { break };
        hops.push(*hop);
        from = hop.to;
    }
    hops
}
