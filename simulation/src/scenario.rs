//! What a schedule is made of: how many of everything, and how hostile the world is. All of it comes from the seed,
//! within limits that a failing schedule is shrunk by.

use fastrand::Rng;
use mesh::rules::TokenMode;

use super::schedule::LONGEST_CALL;

/// The most of everything that a scenario may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub(crate) tasks: usize,
    pub(crate) services: usize,
    pub(crate) clusters: usize,
    pub(crate) environments: usize,
    pub(crate) sweeps: usize,
    pub(crate) kills: usize,
    /// Whether calls fail, and messages get lost and doubled.
    pub(crate) faults: bool,
    /// Whether answers lag and clocks differ.
    pub(crate) lag: bool,
    /// Whether there are schedules in which one service comes and goes at once, while answers lag: the finest races.
    pub(crate) hasty: bool,
    /// Whether there are tokens of others, and of the old controller.
    pub(crate) strangers: bool,
    /// Whether definitions are registered before their tasks start.
    pub(crate) ahead: bool,
    /// Whether people meddle with secrets, and restore Consul from snapshots.
    pub(crate) disturbed: bool,
    /// Which of the bounds does not hold.
    pub(crate) exceeded: Option<Bound>,
    /// Whether there are client agents, Enterprise, deleted clusters, health sync and clean-up.
    pub(crate) extras: bool,
}

impl Limits {
    /// The limits that a search begins with; a failing schedule is shrunk from there.
    pub const WIDEST: Self = Self {
        tasks: 6,
        services: 2,
        clusters: 2,
        environments: 4,
        sweeps: 3,
        kills: 4,
        faults: true,
        lag: true,
        hasty: true,
        strangers: true,
        ahead: true,
        disturbed: true,
        exceeded: None,
        extras: true,
    };

    /// The widest limits, in a world in which one bound does not hold.
    #[must_use]
    pub fn beyond(bound: Bound) -> Self {
        Self { exceeded: Some(bound), ..Self::WIDEST }
    }
}

/// A bound of [`mesh::bounds::Bounds`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// How long ECS's lists may lag.
    EcsLag,
    /// How long reads of a secret may lag.
    SecretsLag,
    /// How long an attempt may take.
    Attempt,
    /// How long a call may still take effect.
    Call,
    /// How far clocks may differ.
    Clocks,
}

/// All of them.
pub const BOUNDS: [Bound; 5] = [Bound::EcsLag, Bound::SecretsLag, Bound::Attempt, Bound::Call, Bound::Clocks];

/// By how much a bound is exceeded.
const EXCESS: u64 = 30;

/// One schedule's parameters. Chances are in per mille.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) mode: TokenMode,
    pub(crate) grace: u16,
    pub(crate) tasks: usize,
    pub(crate) services: usize,
    pub(crate) clusters: usize,
    pub(crate) environments: usize,
    pub(crate) sweeps: usize,
    pub(crate) kills: usize,
    pub(crate) outages: usize,
    pub(crate) refused: u32,
    pub(crate) answer_lost: u32,
    pub(crate) repeated: u32,
    /// How likely it is that a call, or its answer, is stuck for long while everything else goes on.
    pub(crate) stuck: u32,
    pub(crate) duplicated: u32,
    pub(crate) lost: u32,
    pub(crate) max_receives: u32,
    pub(crate) batch: usize,
    /// How far answers of ECS may lag behind, in milliseconds.
    pub(crate) lag: u64,
    /// The same for Secrets Manager.
    pub(crate) secret_lag: u64,
    /// How long a call may take at most, in milliseconds.
    pub(crate) longest_call: u64,
    /// How many times longer than that an answer may take to arrive.
    pub(crate) late_answers: u64,
    /// How many times longer a call may take whose caller waits no more.
    pub(crate) late_effects: u64,
    /// How far an environment's clock may be off, in milliseconds.
    pub(crate) skew: i64,
    /// How much slower the timers of functions are than the time of day.
    pub(crate) slow_timers: u64,
    /// How long a version of a secret stays that shows a token, in seconds; and what else the controller assumes.
    pub(crate) shown: u64,
    assumed: Assumed,
    /// How often people meddle.
    pub(crate) disturbances: usize,
    /// How likely it is that a sweep looks into the wrong region, where there is nothing.
    pub(crate) lost_sweeps: u32,
    pub(crate) strangers: bool,
    /// Whether the first service has a token of the old controller.
    pub(crate) adopted: bool,
    pub(crate) ahead: bool,
    /// Whether some tasks run client agents of their own.
    pub(crate) agents: bool,
    /// Whether all lives in an admin partition.
    pub(crate) enterprise: bool,
    /// Whether somebody deletes the last cluster once its tasks have stopped.
    pub(crate) deletes: bool,
    /// How often health is synced.
    pub(crate) syncs: usize,
    /// Whether messages that gave up are put back into the queue once all works again.
    pub(crate) redrives: bool,
    /// Whether the controller is removed in the end.
    pub(crate) cleanup: bool,
    /// How likely it is that a task lives on at the end.
    pub(crate) survivors: u32,
    /// Whether idle environments end.
    pub(crate) retires: bool,
    /// How likely it is that a task waits with its start for the worst of times.
    pub(crate) late: u32,
    /// How eagerly tasks move on, compared with calls.
    pub(crate) pace: u32,
}

/// What the controller assumes, in milliseconds.
#[derive(Debug, Clone, Copy)]
struct Assumed {
    lag: u64,
    secret_lag: u64,
    call: u64,
    skew: u64,
}

impl Scenario {
    /// The bounds as the controller reads them.
    pub(crate) fn time_bounds(&self) -> String {
        let Assumed { lag, secret_lag, call, skew } = self.assumed;
        let seconds = |milliseconds: u64| milliseconds.div_ceil(1_000);
        // A second more for times that are cut to seconds, and some more calls that are served before one that takes long.
        format!(
            "ecs-lag={},secrets-lag={},attempt=30,call={},clocks={},shown={}",
            seconds(lag),
            seconds(secret_lag),
            seconds(call) + 15,
            seconds(skew) + 1,
            self.shown
        )
    }

    /// How long answers of ECS and Secrets Manager may lag together, as the controller assumes, in milliseconds.
    pub(crate) fn assumed_lag(&self) -> u64 {
        self.assumed.lag + self.assumed.secret_lag
    }

    /// The same world, in which one bound does not hold.
    fn exceeding(mut self, bound: Option<Bound>) -> Self {
        match bound {
            Some(Bound::EcsLag) => self.lag = EXCESS * self.lag.max(1_000),
            Some(Bound::SecretsLag) => self.secret_lag = EXCESS * self.secret_lag.max(1_000),
            Some(Bound::Attempt) => {
                self.slow_timers = EXCESS;
                self.late_answers = EXCESS;
                self.stuck = 300;
            }
            Some(Bound::Call) => {
                self.late_effects = 10 * EXCESS;
                self.stuck = 300;
                self.survivors = 0;
                self.grace = 0;
            }
            Some(Bound::Clocks) => self.skew = 600_000,
            None => {}
        }
        self
    }

    pub(crate) fn draw(random: &mut Rng, limits: &Limits) -> Self {
        let chance = |random: &mut Rng, rates: &[u32]| rates[random.usize(..rates.len())];
        let grace = [0, 30, 300, 300, 900][random.usize(..5)];
        let calm = !limits.faults || random.u32(..3) == 0;
        let rate = |random: &mut Rng, rates: &[u32]| if calm { 0 } else { chance(random, rates) };
        let login = random.u32(..4) == 0;
        let extra = |random: &mut Rng, one_in: u32| limits.extras && random.u32(..one_in) == 0;
        let clusters = random.usize(1..=limits.clusters);
        let drawn = Self {
            mode: if login { TokenMode::AuthMethod } else { TokenMode::SecretsManager },
            grace,
            tasks: random.usize(1..=limits.tasks),
            services: random.usize(1..=limits.services),
            clusters,
            agents: extra(random, 3),
            enterprise: extra(random, 6),
            deletes: clusters > 1 && extra(random, 3),
            syncs: if extra(random, 3) { 3 } else { 0 },
            redrives: extra(random, 2),
            cleanup: extra(random, 5),
            environments: random.usize(1..=limits.environments),
            sweeps: random.usize(..=limits.sweeps),
            kills: random.usize(..=limits.kills),
            outages: if calm { 0 } else { random.usize(..3) },
            refused: rate(random, &[0, 10, 50, 200]),
            answer_lost: rate(random, &[0, 10, 50]),
            repeated: rate(random, &[0, 10, 50]),
            stuck: if limits.lag { chance(random, &[0, 50, 200]) } else { 0 },
            duplicated: if limits.faults { chance(random, &[0, 50, 300]) } else { 0 },
            lost: rate(random, &[0, 0, 100, 500]),
            max_receives: [14, 14, 3][random.usize(..3)],
            batch: random.usize(1..=8),
            lag: if limits.lag { [0, 0, 1_000, 5_000][random.usize(..4)] } else { 0 },
            secret_lag: if limits.lag { [0, 0, 1_000, 5_000][random.usize(..4)] } else { 0 },
            longest_call: LONGEST_CALL,
            late_answers: 1,
            late_effects: 1,
            skew: if limits.lag { [0, 0, 2_000, 10_000][random.usize(..4)] } else { 0 },
            slow_timers: 1,
            shown: [50, 150, 600, 2_700][random.usize(..4)],
            assumed: Assumed { lag: 0, secret_lag: 0, call: 0, skew: 0 },
            disturbances: if limits.disturbed && random.u32(..3) == 0 { random.usize(1..6) } else { 0 },
            lost_sweeps: rate(random, &[0, 300]),
            strangers: limits.strangers && random.bool(),
            adopted: limits.strangers && !login && random.u32(..3) == 0,
            ahead: limits.ahead && random.u32(..3) == 0,
            survivors: chance(random, &[0, 200, 500]),
            retires: random.bool(),
            late: chance(random, &[0, 300, 600]),
            pace: chance(random, &[2, 5, 10]),
        };
        let drawn = if limits.hasty && limits.lag && random.u32(..3) == 0 { drawn.hasty() } else { drawn };
        let assumed = Assumed {
            lag: drawn.lag,
            secret_lag: drawn.secret_lag,
            call: drawn.longest_call,
            // Two clocks may be off in different directions.
            skew: 2 * drawn.skew.unsigned_abs(),
        };
        Self { assumed, ..drawn }.exceeding(limits.exceeded)
    }

    /// The same, but one service comes and goes at once, while answers lag.
    fn hasty(self) -> Self {
        Self {
            mode: TokenMode::SecretsManager,
            grace: 0,
            services: 1,
            lag: 5_000,
            secret_lag: 5_000,
            skew: 0,
            shown: 50,
            survivors: 500,
            late: 600,
            pace: 10,
            deletes: false,
            ..self
        }
    }
}
