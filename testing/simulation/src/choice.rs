//! The choice of the next action: drawn by weight among the actions that are possible.

use super::{ecs::Task, health_sync::Healing, scenario::Scenario, schedule::Schedule};

/// The actions of a schedule.
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
    ToggleHealth,
    LoseContainer,
    ChangeHost,
    RestartSync,
    Tick,
    Read,
    ChangeByHand,
    ChangeCatalog,
    StopRepaired,
}

impl Schedule {
    pub(crate) fn choose(&mut self) -> Action {
        let (is_free, is_late) = self.calls();
        let is_busy = self.is_busy();
        let busy = self.environments.iter().filter(|e| e.invocation.is_some() && !e.sweeps).count();
        let Scenario { kills, sweeps, outages, manual_changes, .. } = self.left;
        let Healing { flips, lost_containers, host_changes, sync_restarts, catalog_changes, .. } = self.left.healing;
        let is_idle_environment = self.environments.iter().any(|environment| environment.invocation.is_none());
        self.with(|world| {
            let is_forgotten = world.is_task_forgotten() && (sweeps > 0 || !world.sweep_reads.is_empty());
            // Tasks go on until a sweep finds what is missing.
            let pace = if is_forgotten { 1 } else { world.scenario.pace };
            let mut actions = vec![(if is_busy { 1 } else { 3 }, Action::Advance)];
            actions.extend(is_free.then_some((20, Action::Serve)));
            // A late call is served at once; without faults, every call is.
            if is_late || world.fault_free && is_free {
                actions = vec![(1, Action::Serve)];
            }
            let receives = world.sqs.is_visible(world.now) && busy < world.scenario.environments;
            actions.extend((!world.ready_tasks().is_empty()).then_some((pace, Action::Step)));
            actions.extend(receives.then_some((8, Action::Receive)));
            actions.extend((!world.tasks_without_token().is_empty()).then_some((pace, Action::Read)));
            actions.extend((!world.due_health_syncs().is_empty()).then_some((3, Action::Tick)));
            if !world.fault_free {
                actions.extend((manual_changes > 0).then_some((1, Action::ChangeByHand)));
                let is_down = !world.down.is_empty();
                actions.extend((sweeps > 0).then_some((if is_forgotten { 10 } else { 1 }, Action::Sweep)));
                actions.extend((kills > 0 && is_busy).then_some((1, Action::Kill)));
                actions.extend((self.registrations > 0).then_some((2, Action::Register)));
                actions.extend((outages > 0 && !is_down).then_some((1, Action::Outage)));
                actions.extend(is_down.then_some((2, Action::Recovery)));
                actions.extend((world.scenario.retires && is_idle_environment).then_some((1, Action::Retire)));
                actions.extend((world.scenario.skew > 0).then_some((1, Action::Jump)));
                actions.extend(world.is_cluster_over().then_some((1, Action::DeleteCluster)));
                actions.extend((flips > 0).then_some((1, Action::ToggleHealth)));
                let may_lose = lost_containers > 0 && !world.tasks_that_may_lose_a_container().is_empty();
                let is_any_running = world.ecs.tasks.iter().any(Task::runs_in_mesh);
                actions.extend((catalog_changes > 0 && is_any_running).then_some((3, Action::ChangeCatalog)));
                actions.extend((!world.tasks_being_repaired().is_empty()).then_some((10, Action::StopRepaired)));
                actions.extend(may_lose.then_some((1, Action::LoseContainer)));
                let may_change = host_changes > 0 && !world.tasks_on_hosts().is_empty();
                actions.extend(may_change.then_some((1, Action::ChangeHost)));
                let may_restart = sync_restarts > 0 && !world.tasks_with_restarts().is_empty();
                actions.extend(may_restart.then_some((1, Action::RestartSync)));
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

    /// Whether a call can be served, and whether one has reached its longest duration.
    fn calls(&self) -> (bool, bool) {
        let pending = self.shared.pending.lock().unwrap();
        let world = self.shared.world.lock().unwrap();
        let is_late = pending.iter().any(|call| call.is_late(&world));
        (is_late || pending.iter().any(|call| !call.is_stuck(&world)), is_late)
    }
}
