//! The lines of Consul that the servers go through.

use audit::versions::Line;

use super::{fit::Releases, pair::Pair};

/// How many lines an upgrade of the servers may advance:
/// <https://developer.hashicorp.com/consul/docs/upgrade/instructions>
const FURTHEST: usize = 2;

/// An upgrade of the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hop {
    pub(super) from: Line,
    pub(super) to: Line,
}

impl Hop {
    /// Whether there are releases for all of these tasks that go with both ends.
    fn is_spanned(&self, tasks: &[&Releases]) -> bool {
        tasks.iter().all(|tasks| Pair::for_tasks(tasks, &[self.from, self.to]).is_some())
    }
}

/// The way from one line to another: each hop as far as there are releases for all tasks that go with both of its ends;
/// else as far as an upgrade may go. `known` are the lines of Consul, from the oldest to the newest.
pub(super) fn hops(known: &[Line], from: Line, target: Line, tasks: &[&Releases]) -> Vec<Hop> {
    let mut hops = Vec::new();
    let mut from = from;
    while from < target {
        let next = known.iter().copied().filter(|line| *line > from && *line <= target).take(FURTHEST);
        let candidates: Vec<Hop> = next.map(|to| Hop { from, to }).collect();
        let spanned = candidates.iter().rev().find(|hop| hop.is_spanned(tasks));
        let Some(hop) = spanned.or_else(|| candidates.last()) else { break };
        hops.push(*hop);
        from = hop.to;
    }
    hops
}
