//! One schedule: a phase with faults, from the first task's start until every task has ended; then phases without faults, each with
//! its checks.

use std::sync::{Arc, Mutex};

use observe::SweepOrder;
use report::{Problem, SweepOutcome, SweepReport};

use mesh::settings::RepairMode;

use super::{
    calls::{PendingCall, Shared},
    environment::Environment,
    scenario::Scenario,
    world::{World, note},
};

/// The longest duration of a call, in milliseconds.
pub(crate) const LONGEST_CALL: u64 = 25_000;
/// The most steps of a schedule: one that has not settled by then does not converge.
pub(crate) const MOST_STEPS: usize = 20_000;

pub(crate) struct Schedule {
    pub(crate) shared: Arc<Shared>,
    pub(crate) environments: Vec<Environment>,
    /// The number of environments started so far.
    pub(crate) started: usize,
    /// The scenario; its counts are of what is still to happen.
    pub(crate) left: Scenario,
    pub(crate) registrations: usize,
    /// Time that has passed in the world, but not yet for the timers of invocations, in milliseconds.
    pub(crate) pending_timer_time: u64,
    pub(crate) steps: usize,
    pub(crate) guard_tripped: bool,
    /// The report of the last sweep that has ended.
    pub(crate) last_sweep: Option<SweepReport>,
    /// Whether all faults have ended, so that a sweep has to be complete.
    pub(crate) is_settled: bool,
}

impl Schedule {
    pub(crate) fn new(world: World) -> Self {
        let left = world.scenario.clone();
        Self {
            shared: Arc::new(Shared { world: Mutex::new(world), pending: Mutex::default() }),
            environments: Vec::new(),
            started: 0,
            registrations: if left.pre_provisioned { left.services } else { 0 },
            left,
            pending_timer_time: 0,
            steps: 0,
            guard_tripped: false,
            last_sweep: None,
            is_settled: false,
        }
    }

    /// From the first task's start to the last check.
    pub(crate) async fn run(&mut self) {
        self.run_with_faults().await;
        self.stop_faults();
        self.settle().await;
        if self.with(World::redrive) {
            self.settle().await;
        }
        let is_all_delivered = self.with(|world| {
            let is_repaired_by_events = world.scenario.sweeps == 0 && !world.manual_changes.is_catalog_changed;
            world.scenario.lost == 0 && is_repaired_by_events && world.sqs.dead.is_empty()
        });
        if is_all_delivered {
            self.check(|world| world.check_converged(false));
        }
        self.end_manual_changes();
        let (undetected_for, bounds) = self.with(|world| (world.undetected_for(), world.scope.bounds));
        let [hidden_for, settled_after, shown] =
            [bounds.hidden_for() + bounds.clocks, bounds.settled_after(), bounds.shown]
                .map(|bound| u64::try_from(bound.as_millis()).unwrap() + 1_000);
        self.wait(undetected_for.max(settled_after)).await;
        self.sweep_and_settle().await;
        self.check(|world| world.check_converged(true));
        self.check_plan().await;
        let (grace, waits) = self.with(|world| {
            let waits = world.consul.tokens.iter().any(|token| token.description.as_str().contains("unused-since"));
            (u64::from(world.scenario.grace) * 1_000, waits)
        });
        self.wait(grace + shown + if waits { 3_700_000 } else { 0 }).await;
        if self.with(|world| world.scenario.healing.flips > 0) {
            self.with(World::toggle_health);
        }
        self.sweep_and_settle().await;
        self.wait(hidden_for).await;
        self.sweep_and_settle().await;
        self.wait(settled_after).await;
        self.sweep_and_settle().await;
        self.check(|world| world.check_converged(true));
        self.check(World::check_all_drained);
        self.check(World::check_hosts);
        self.check(World::check_deleted_clusters);
        self.check(World::check_idle);
        self.check(World::check_flood);
        self.check_plan().await;
        if self.with(|world| world.scenario.cleanup) && !self.is_broken() {
            self.remove_controller().await;
            self.check(World::check_cleaned_up);
        }
    }

    /// The last manual changes, after which the next sweep has to repair everything.
    fn end_manual_changes(&mut self) {
        let catalog_changes = std::mem::take(&mut self.left.healing.catalog_changes);
        self.with(|world| {
            world.fix_by_hand();
            (0..catalog_changes).for_each(|_| world.change_catalog_by_hand());
            world.bring_back_departed();
            world.scenario.lag = 0;
        });
    }

    /// Removes the controller: the clean-up is killed once, and run again.
    async fn remove_controller(&mut self) {
        self.clean_up();
        self.poll_invocations();
        for _ in 0..self.with(|world| world.random.usize(..60)) {
            let action = self.choose();
            self.act(action).await;
        }
        if self.is_busy() {
            self.left.kills += 1;
            self.kill_any();
        }
        self.settle().await;
        self.clean_up();
        self.poll_invocations();
        self.settle().await;
    }

    /// Whether an invocation is under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.environments.iter().any(|environment| environment.invocation.is_some())
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.with(|world| world.broken.is_some())
    }

    pub(crate) fn with<T>(&self, access: impl FnOnce(&mut World) -> T) -> T {
        access(&mut self.shared.world.lock().unwrap())
    }

    fn check(&self, check: impl FnOnce(&mut World)) {
        if !self.is_broken() {
            self.with(check);
        }
    }

    /// Runs random actions, with faults, until every task has ended, and up to 150 actions more.
    async fn run_with_faults(&mut self) {
        let mut remaining = self.with(|world| world.random.usize(..150));
        while !self.is_broken() {
            if self.with(|world| world.have_all_tasks_ended()) {
                if remaining == 0 {
                    return;
                }
                remaining -= 1;
            }
            let action = self.choose();
            self.act(action).await;
        }
    }

    fn stop_faults(&mut self) {
        self.with(|world| {
            world.note("---- no more faults ----");
            world.fault_free = true;
            world.down.clear();
        });
    }

    fn is_quiet(&self) -> bool {
        let pending = self.shared.pending.lock().unwrap();
        let world = self.shared.world.lock().unwrap();
        // A call that is stuck for longer than a bound is not waited for.
        let (stuck, moving): (Vec<&PendingCall>, Vec<&PendingCall>) =
            pending.iter().partition(|call| call.is_stuck(&world));
        let is_stuck = |environment: &Environment| stuck.iter().any(|call| call.environment == environment.number);
        let is_busy = self.environments.iter().any(|it| it.invocation.is_some() && !is_stuck(it));
        !is_busy && moving.is_empty() && world.sqs.messages.is_empty()
    }

    /// Runs until the queue is empty and no invocation or call is under way.
    async fn settle(&mut self) {
        while !self.is_quiet() && !self.is_broken() {
            let action = self.choose();
            self.act(action).await;
        }
    }

    async fn wait(&mut self, time: u64) {
        self.advance(time).await;
        self.settle().await;
    }

    /// A plan lists only changes: after a sweep that nobody disturbs, and that did everything, the plan at its clock is empty.
    async fn check_plan(&mut self) {
        let is_promised = self.with(|world| {
            let scenario = &world.scenario;
            let is_read_in_time = scenario.lag == 0 && scenario.late_answers == 1 && scenario.late_effects == 1;
            world.scope.mode.acts() && world.scope.repair == RepairMode::On && is_read_in_time
        });
        if !is_promised || self.is_broken() || !self.shared.pending.lock().unwrap().is_empty() {
            return;
        }
        let (idle, began) = (self.idle_environment(true), self.with(|world| world.now));
        let number = self.environments[idle].number;
        let swept = self.sweep_undisturbed(idle, SweepOrder::default()).await;
        let is_its = |faults: &[Problem]| self.with(|world| world.are_of_neighbour(faults));
        if !swept.is_some_and(|swept| swept.outcome == SweepOutcome::Done && is_its(&swept.faults)) {
            return;
        }
        let took = self.with(|world| {
            note!(world, "the clock of environment {number} is set back to the begin of the sweep");
            let took = i64::try_from(world.now - began).unwrap();
            *world.skews.entry(number).or_default() -= took;
            took
        });
        let planned = self.sweep_undisturbed(idle, SweepOrder { dry_run: true, ..SweepOrder::default() }).await;
        self.with(|world| {
            *world.skews.entry(number).or_default() += took;
            for cluster in planned.into_iter().flat_map(|plan| plan.clusters).filter(|it| !it.planned.is_empty()) {
                world.broken(format!("a plan lists only changes: after a sweep, it has {:?}", cluster.planned));
            }
        });
        self.settle().await;
    }

    /// A sweep in this environment, during which nothing else happens; its report, if it ends.
    async fn sweep_undisturbed(&mut self, index: usize, order: SweepOrder) -> Option<SweepReport> {
        self.last_sweep = None;
        self.start_sweep_in(index, order);
        self.poll_invocations();
        while self.environments.get(index).is_some_and(|it| it.invocation.is_some()) && !self.is_broken() {
            if self.shared.pending.lock().unwrap().is_empty() {
                self.advance(1_000).await;
            } else {
                self.serve().await;
            }
            self.poll_invocations();
        }
        self.last_sweep.take()
    }

    /// A sweep and all that follows from it; a second one with `force` if the first, or its second look, tripped the guard.
    async fn sweep_and_settle(&mut self) {
        self.is_settled = true;
        for force in [false, true] {
            if self.is_broken() || (force && !self.guard_tripped && !self.with(|world| world.has_made_up())) {
                return;
            }
            let had_made_up = self.with(|world| world.has_made_up());
            self.start_sweep(SweepOrder { force, ..SweepOrder::default() });
            self.poll_invocations();
            self.settle().await;
            self.check(World::check_healed);
            self.check(|world| world.check_departed(force, had_made_up));
        }
    }
}
