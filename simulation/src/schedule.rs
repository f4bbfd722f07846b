//! One schedule: from the first task's start, through a storm in which everything happens at once, to the quiet in which
//! everything is checked.

use std::sync::{Arc, Mutex};

use controller::SweepOrder;

use super::{
    board::{Operation, Stage},
    environment::Environment,
    world::World,
};

/// How long no call takes longer than, in milliseconds.
pub(crate) const LONGEST_CALL: u64 = 25_000;
/// Whoever is not quiet after so many steps never will be.
pub(crate) const MOST_STEPS: usize = 20_000;

pub(crate) struct Schedule {
    pub(crate) stage: Arc<Stage>,
    pub(crate) environments: Vec<Environment>,
    /// How many environments there ever were.
    pub(crate) started: usize,
    pub(crate) kills: usize,
    pub(crate) sweeps: usize,
    pub(crate) outages: usize,
    pub(crate) registrations: usize,
    pub(crate) syncs: usize,
    pub(crate) disturbances: usize,
    /// Time that has passed for the world, and not yet for the timers of invocations.
    pub(crate) owed: u64,
    pub(crate) steps: usize,
    pub(crate) guarded: bool,
    /// Whether everything is quiet, so that a sweep has no excuse.
    pub(crate) is_settled: bool,
}

impl Schedule {
    pub(crate) fn new(world: World) -> Self {
        let scenario = world.scenario.clone();
        Self {
            stage: Arc::new(Stage { world: Mutex::new(world), board: Mutex::default() }),
            environments: Vec::new(),
            started: 0,
            kills: scenario.kills,
            sweeps: scenario.sweeps,
            outages: scenario.outages,
            registrations: if scenario.ahead { scenario.services } else { 0 },
            syncs: scenario.syncs,
            disturbances: scenario.disturbances,
            owed: 0,
            steps: 0,
            guarded: false,
            is_settled: false,
        }
    }

    /// From the first task's start to the last check.
    pub(crate) async fn run(&mut self) {
        self.storm().await;
        self.calm_down();
        self.settle().await;
        if self.with(World::redrive) {
            self.settle().await;
        }
        let is_all_delivered =
            self.with(|world| world.scenario.lost == 0 && world.scenario.sweeps == 0 && world.sqs.dead.is_empty());
        if is_all_delivered {
            self.check(|world| world.check_converged(false));
        }
        self.with(World::mend_by_hand);
        self.with(|world| world.scenario.lag = 0);
        let (missed_in, bounds) = self.with(|world| (world.missed_in(), world.scope.bounds));
        let [hidden_for, settled_after, shown] =
            [bounds.hidden_for() + bounds.clocks, bounds.settled_after(), bounds.shown]
                .map(|bound| u64::try_from(bound.as_millis()).unwrap() + 1_000);
        self.wait(missed_in.max(settled_after)).await;
        self.sweep_calmly().await;
        self.check(|world| world.check_converged(true));
        let (grace, waits) = self.with(|world| {
            let waits = world.consul.tokens.iter().any(|token| token.description.contains("unused-since"));
            (u64::from(world.scenario.grace) * 1_000, waits)
        });
        self.wait(grace + shown + if waits { 3_700_000 } else { 0 }).await;
        self.sweep_calmly().await;
        self.wait(hidden_for).await;
        self.sweep_calmly().await;
        self.wait(settled_after).await;
        self.sweep_calmly().await;
        self.check(|world| world.check_converged(true));
        self.check(World::check_all_drained);
        self.check(World::check_deleted_clusters);
        self.check(World::check_idle);
        if self.with(|world| world.scenario.syncs > 0) && !self.is_broken() {
            self.sync_health();
            self.go_on();
            self.settle().await;
            self.check(World::check_health);
        }
        if self.with(|world| world.scenario.cleanup) && !self.is_broken() {
            self.leave().await;
            self.check(World::check_cleaned_up);
        }
    }

    /// The controller is removed for good: killed in the middle of it, it begins again.
    async fn leave(&mut self) {
        self.clean_up();
        self.go_on();
        for _ in 0..self.with(|world| world.random.usize(..60)) {
            let action = self.choose();
            self.act(action).await;
        }
        if self.environments.iter().any(|environment| environment.invocation.is_some()) {
            self.kills += 1;
            self.kill_any();
        }
        self.settle().await;
        self.clean_up();
        self.go_on();
        self.settle().await;
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.with(|world| world.broken.is_some())
    }

    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut World) -> T) -> T {
        look(&mut self.stage.world.lock().unwrap())
    }

    fn check(&self, check: impl FnOnce(&mut World)) {
        if !self.is_broken() {
            self.with(check);
        }
    }

    /// Everything happens at once, until every task has lived, and a little longer.
    async fn storm(&mut self) {
        let mut longer = self.with(|world| world.random.usize(..150));
        while !self.is_broken() {
            if self.with(|world| world.is_lived_out()) {
                if longer == 0 {
                    return;
                }
                longer -= 1;
            }
            let action = self.choose();
            self.act(action).await;
        }
    }

    fn calm_down(&mut self) {
        self.with(|world| {
            world.note("---- no more faults ----");
            world.calm = true;
            world.down.clear();
        });
    }

    fn is_quiet(&self) -> bool {
        let board = self.stage.board.lock().unwrap();
        let world = self.stage.world.lock().unwrap();
        // Nobody waits for what exceeds a bound.
        let (stuck, moving): (Vec<&Operation>, Vec<&Operation>) = board.iter().partition(|call| call.is_stuck(&world));
        let is_stuck = |environment: &Environment| stuck.iter().any(|call| call.environment == environment.number);
        let is_busy = self.environments.iter().any(|it| it.invocation.is_some() && !is_stuck(it));
        !is_busy && moving.is_empty() && world.sqs.messages.is_empty()
    }

    /// Until every message is done or given up.
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

    /// A sweep, all that follows from it, and a person's word if the guard asks for it.
    async fn sweep_calmly(&mut self) {
        self.is_settled = true;
        for force in [false, true] {
            if self.is_broken() || (force && !self.guarded) {
                return;
            }
            self.start_sweep(SweepOrder { force, ..SweepOrder::default() });
            self.go_on();
            self.settle().await;
        }
    }
}
