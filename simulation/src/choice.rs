//! Who goes on next: chosen by the seed, among all that may.

use super::schedule::{LONGEST_CALL, Schedule};

/// What may happen next.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Action {
    Serve,
    Step,
    Receive,
    Sweep,
    Kill,
    Advance,
    Register,
    Outage,
    Recovery,
    Retire,
    Jump,
    DeleteCluster,
    SyncHealth,
    Ail,
}

impl Schedule {
    pub(crate) fn choose(&mut self) -> Action {
        let (waits, is_free, oldest) = self.calls();
        let is_busy = self.environments.iter().any(|environment| environment.invocation.is_some());
        let busy = self.environments.iter().filter(|e| e.invocation.is_some() && !e.sweeps).count();
        let (kills, sweeps, outages, registrations) = (self.kills, self.sweeps, self.outages, self.registrations);
        let syncs = self.syncs;
        let is_idle_environment = self.environments.iter().any(|environment| environment.invocation.is_none());
        self.with(|world| {
            let pace = world.scenario.pace;
            let mut actions = vec![(if is_busy { 1 } else { 3 }, Action::Advance)];
            if is_free {
                actions.push((20, Action::Serve));
            }
            // Without faults no call takes long.
            if oldest + LONGEST_CALL < world.now || world.calm && waits {
                actions = vec![(1, Action::Serve)];
            }
            if !world.restless().is_empty() {
                actions.push((pace, Action::Step));
            }
            if world.sqs.is_visible(world.now) && busy < world.scenario.environments {
                actions.push((8, Action::Receive));
            }
            if !world.calm {
                let is_down = !world.down.is_empty();
                actions.extend((sweeps > 0).then_some((1, Action::Sweep)));
                actions.extend((kills > 0 && is_busy).then_some((1, Action::Kill)));
                actions.extend((registrations > 0).then_some((2, Action::Register)));
                actions.extend((outages > 0 && !is_down).then_some((1, Action::Outage)));
                actions.extend(is_down.then_some((2, Action::Recovery)));
                actions.extend((world.scenario.retires && is_idle_environment).then_some((1, Action::Retire)));
                actions.extend((world.scenario.skew > 0).then_some((1, Action::Jump)));
                actions.extend(world.is_cluster_over().then_some((1, Action::DeleteCluster)));
                actions.extend((syncs > 0).then_some((1, Action::SyncHealth)));
                actions.extend((syncs > 0).then_some((1, Action::Ail)));
            }
            let total: u32 = actions.iter().map(|(weight, _)| *weight).sum();
            let mut at = world.random.u32(..total);
            let chosen = actions.iter().find(|(weight, _)| {
                let is_chosen = at < *weight;
                at = at.saturating_sub(*weight);
                is_chosen
            });
            chosen.map_or(Action::Advance, |(_, action)| *action)
        })
    }

    /// Whether calls wait, whether one of them is not stuck, and since when the oldest one waits.
    fn calls(&self) -> (bool, bool, u64) {
        let board = self.stage.board.lock().unwrap();
        let now = self.with(|world| world.now);
        let is_over = |since: u64| since + LONGEST_CALL < now;
        let is_free = board.iter().any(|operation| operation.stuck_until <= now || is_over(operation.since));
        (!board.is_empty(), is_free, board.iter().map(|operation| operation.since).min().unwrap_or(u64::MAX / 2))
    }
}
