//! Who goes on next: chosen by the seed, among all that may.

use super::schedule::Schedule;

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
    Read,
    Disturb,
}

impl Schedule {
    pub(crate) fn choose(&mut self) -> Action {
        let (is_free, is_late) = self.calls();
        let is_busy = self.environments.iter().any(|environment| environment.invocation.is_some());
        let busy = self.environments.iter().filter(|e| e.invocation.is_some() && !e.sweeps).count();
        let (kills, sweeps, outages, registrations) = (self.kills, self.sweeps, self.outages, self.registrations);
        let (syncs, disturbances) = (self.syncs, self.disturbances);
        let is_idle_environment = self.environments.iter().any(|environment| environment.invocation.is_none());
        self.with(|world| {
            let pace = world.scenario.pace;
            let mut actions = vec![(if is_busy { 1 } else { 3 }, Action::Advance)];
            if is_free {
                actions.push((20, Action::Serve));
            }
            // Without faults no call takes long.
            if is_late || world.calm && is_free {
                actions = vec![(1, Action::Serve)];
            }
            if !world.restless().is_empty() {
                actions.push((pace, Action::Step));
            }
            if world.sqs.is_visible(world.now) && busy < world.scenario.environments {
                actions.push((8, Action::Receive));
            }
            if !world.unread().is_empty() {
                actions.push((pace, Action::Read));
            }
            if !world.calm {
                actions.extend((disturbances > 0).then_some((1, Action::Disturb)));
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

    /// Whether a call is not stuck, and whether one may wait no longer.
    fn calls(&self) -> (bool, bool) {
        let board = self.stage.board.lock().unwrap();
        let world = self.stage.world.lock().unwrap();
        let is_late = board.iter().any(|operation| operation.is_late(&world));
        (is_late || board.iter().any(|operation| !operation.is_stuck(&world)), is_late)
    }
}
