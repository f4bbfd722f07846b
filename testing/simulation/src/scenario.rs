//! The parameters of a schedule: numbers of tasks, services and so on, and rates of faults. The seed decides all of them, within
//! limits. A failing schedule is shrunk by lowering the limits.

use fastrand::Rng;
use mesh::settings::TokenMode;

use super::{dialect::Dialect, health_sync::Healing, hostile::Hostile, schedule::LONGEST_CALL};

/// Upper limits for the parameters of a scenario.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    pub(crate) tasks: usize,
    pub(crate) services: usize,
    pub(crate) clusters: usize,
    pub(crate) environments: usize,
    pub(crate) sweeps: usize,
    pub(crate) kills: usize,
    /// Whether calls fail, and messages are lost and duplicated.
    pub(crate) faults: bool,
    /// Whether reads lag and clocks differ.
    pub(crate) lag: bool,
    /// Whether some schedules provoke races: one service without a grace period, while reads lag.
    pub(crate) races: bool,
    /// Whether Consul has tokens of other owners, and of consul-ecs's controller.
    pub(crate) foreign_tokens: bool,
    /// Whether definitions are registered before their tasks start, so that tokens are pre-provisioned.
    pub(crate) pre_provisioned: bool,
    /// Whether people edit secrets, delete tokens, change the catalog, and restore Consul from snapshots.
    pub(crate) manual_changes: bool,
    /// The bound that does not hold.
    pub(crate) exceeded: Option<Bound>,
    /// Whether scenarios have client agents, Consul Enterprise, deleted clusters, health sync and clean-up.
    pub(crate) extras: bool,
    /// Whether the mode is `observe`: the only promise is then that nothing is written.
    pub(crate) observes: bool,
}

impl Limits {
    /// The limits that a search begins with.
    pub const WIDEST: Self = Self {
        tasks: 6,
        services: 2,
        clusters: 2,
        environments: 4,
        sweeps: 3,
        kills: 4,
        faults: true,
        lag: true,
        races: true,
        foreign_tokens: true,
        pre_provisioned: true,
        manual_changes: true,
        exceeded: None,
        extras: true,
        observes: false,
    };

    /// The widest limits, in mode `observe`.
    pub const OBSERVING: Self = Self { observes: true, ..Self::WIDEST };

    /// The widest limits, with one bound exceeded.
    pub fn beyond(bound: Bound) -> Self {
        Self { exceeded: Some(bound), ..Self::WIDEST }
    }
}

/// A bound of [`mesh::time::Bounds`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// How long ECS's listings may lag.
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

/// All bounds.
pub const BOUNDS: [Bound; 5] = [Bound::EcsLag, Bound::SecretsLag, Bound::Attempt, Bound::Call, Bound::Clocks];

/// The factor by which a bound is exceeded.
const EXCESS: u64 = 30;

/// One schedule's parameters. Probabilities are per mille.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub(crate) mode: TokenMode,
    /// Whether the secret of every other service is spelled with an upper-case letter.
    pub(crate) spells_secrets: bool,
    /// Whether tasks claim by a tag to be of a service, and read the secret of their family.
    pub(crate) reads_family_secrets: bool,
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
    /// The probability that a call, or its answer, is delayed for a long time.
    pub(crate) stuck: u32,
    pub(crate) duplicated: u32,
    pub(crate) lost: u32,
    pub(crate) max_receives: u32,
    pub(crate) batch: usize,
    /// The longest lag of ECS's answers, in milliseconds.
    pub(crate) lag: u64,
    /// The longest lag of Secrets Manager's answers, in milliseconds.
    pub(crate) secret_lag: u64,
    /// The longest duration of a call, in milliseconds.
    pub(crate) longest_call: u64,
    /// The factor by which an answer may be later than `longest_call`.
    pub(crate) late_answers: u64,
    /// The factor by which the effect of a call may be later than `longest_call` once its caller has ended.
    pub(crate) late_effects: u64,
    /// The largest skew of an environment's clock, in milliseconds.
    pub(crate) skew: i64,
    /// The factor by which the timers of functions are slower than the wall clock.
    pub(crate) slow_timers: u64,
    /// How long a version of a secret that shows a token stays, in seconds.
    pub(crate) shown: u64,
    assumed: Assumed,
    /// How many manual changes people make.
    pub(crate) manual_changes: usize,
    /// The probability that a sweep reads the wrong region, where ECS has no tasks.
    pub(crate) wrong_region_sweeps: u32,
    pub(crate) foreign_tokens: bool,
    /// Whether the first service has a token of consul-ecs's controller.
    pub(crate) adopted: bool,
    pub(crate) pre_provisioned: bool,
    /// Whether containers may start, log in and register before ECS describes their task.
    pub(crate) starts_early: bool,
    /// Whether instances of tasks that are gone come back, and made-up ones.
    pub(crate) departed: bool,
    /// Whether ECS counts one more task than there are, so that a listing never has as many.
    pub miscounts: bool,
    /// Whether some tasks run client agents of their own.
    pub(crate) agents: bool,
    /// Whether some tasks claim to be who they are not, or belong to another Consul.
    pub(crate) has_liars: bool,
    /// What a hostile neighbour reads, if there is one.
    pub(crate) hostile: Option<Hostile>,
    /// Whether there are many tokens for services whose definitions no task has used.
    pub(crate) has_unused: bool,
    /// Whether all tasks are in an admin partition.
    pub enterprise: bool,
    /// Whether the last cluster is deleted once its tasks have stopped.
    pub(crate) deletes: bool,
    /// Whether the dead-letter queue is redriven once faults have ended.
    pub(crate) redrives: bool,
    /// Whether the controller is removed at the end.
    pub(crate) cleanup: bool,
    /// The probability that a task does not stop.
    pub(crate) survivors: u32,
    /// Whether Lambda ends idle environments.
    pub(crate) retires: bool,
    /// The probability that a task starts only at one of the critical moments of [`Start`](super::ecs::Start).
    pub(crate) late: u32,
    /// The weight of tasks' steps, compared with that of calls.
    pub(crate) pace: u32,
    /// Whether the settings select the clusters by a pattern.
    pub(crate) by_pattern: bool,
    pub(crate) dialect: Dialect,
    pub(crate) healing: Healing,
    /// Whether the mode is `observe`.
    pub(crate) observes: bool,
    /// Whether ECS also runs tasks that are not the mesh's, and shows some tasks with a status of next year.
    pub(crate) has_neighbours: bool,
    /// Whether the name of a cluster in scope, which has no tasks, differs only in case from another's.
    pub(crate) has_namesake: bool,
    /// Whether that cluster in scope was deleted.
    pub(crate) is_managed_deleted: bool,
}

/// The bounds that the controller is configured with, in milliseconds.
#[derive(Debug, Clone, Copy)]
struct Assumed {
    lag: u64,
    secret_lag: u64,
    call: u64,
    skew: u64,
}

impl Scenario {
    /// The value of the controller's setting `TIME_BOUNDS`.
    pub(crate) fn time_bounds(&self) -> String {
        let Assumed { lag, secret_lag, call, skew } = self.assumed;
        let seconds = |milliseconds: u64| milliseconds.div_ceil(1_000);
        // Times are cut to seconds: one second more. Other calls are served before a stuck one: 15 seconds more.
        format!(
            "ecs-lag={},secrets-lag={},attempt=30,call={},clocks={},shown={},health-lag={}",
            seconds(lag),
            seconds(secret_lag),
            seconds(call) + 15,
            seconds(skew) + 1,
            self.shown,
            self.healing.health_lag
        )
    }

    /// The sum of the assumed lags of ECS and Secrets Manager, in milliseconds.
    pub(crate) fn assumed_lag(&self) -> u64 {
        self.assumed.lag + self.assumed.secret_lag
    }

    /// The same scenario with one bound exceeded.
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
        let fault_free = !limits.faults || random.u32(..3) == 0;
        let rate = |random: &mut Rng, rates: &[u32]| if fault_free { 0 } else { chance(random, rates) };
        let mode =
            [TokenMode::Auto, TokenMode::Auto, TokenMode::SecretsManager, TokenMode::AuthMethod][random.usize(..4)];
        let login = mode == TokenMode::AuthMethod;
        let extra = |random: &mut Rng, one_in: u32| limits.extras && random.u32(..one_in) == 0;
        let clusters = random.usize(1..=limits.clusters);
        let drawn = Self {
            mode,
            spells_secrets: mode == TokenMode::Auto && random.u32(..3) == 0,
            reads_family_secrets: mode == TokenMode::Auto && extra(random, 3),
            grace,
            tasks: random.usize(1..=limits.tasks),
            services: random.usize(1..=limits.services),
            clusters,
            agents: extra(random, 3),
            has_liars: extra(random, 2),
            hostile: Hostile::draw(random, mode, limits.extras),
            has_unused: extra(random, 12),
            enterprise: extra(random, 6),
            deletes: clusters > 1 && extra(random, 3),
            redrives: extra(random, 2),
            cleanup: extra(random, 5),
            environments: random.usize(1..=limits.environments),
            sweeps: random.usize(..=limits.sweeps),
            kills: random.usize(..=limits.kills),
            outages: if fault_free { 0 } else { random.usize(..3) },
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
            manual_changes: if limits.manual_changes && random.u32(..3) == 0 { random.usize(1..6) } else { 0 },
            wrong_region_sweeps: rate(random, &[0, 300]),
            foreign_tokens: limits.foreign_tokens && random.bool(),
            adopted: limits.foreign_tokens && !login && random.u32(..3) == 0,
            pre_provisioned: limits.pre_provisioned && random.u32(..3) == 0,
            starts_early: limits.lag && random.bool(),
            departed: limits.manual_changes && random.u32(..3) == 0,
            miscounts: random.u32(..3) == 0,
            survivors: chance(random, &[0, 200, 500]),
            retires: random.bool(),
            late: chance(random, &[0, 300, 600]),
            pace: chance(random, &[2, 5, 10]),
            by_pattern: extra(random, 3),
            dialect: Dialect::draw(random),
            healing: Healing::draw(random, limits),
            observes: limits.observes,
            has_neighbours: extra(random, 3),
            has_namesake: extra(random, 4),
            is_managed_deleted: random.bool(),
        };
        // The clean-up removes what is in scope, and a pattern may select the namesake.
        let drawn = Self { has_namesake: drawn.has_namesake && !drawn.cleanup, ..drawn };
        let drawn = if limits.races && limits.lag && random.u32(..3) == 0 { drawn.races() } else { drawn };
        let assumed = Assumed {
            lag: drawn.lag,
            secret_lag: drawn.secret_lag,
            call: drawn.longest_call,
            // Two clocks may be skewed in opposite directions.
            skew: 2 * drawn.skew.unsigned_abs(),
        };
        Self { assumed, ..drawn }.exceeding(limits.exceeded)
    }

    /// Whether a task reads its token's secret. With [`TokenMode::Auto`], one of three tasks of any service logs in.
    pub(crate) fn reads_token(&self, random: &mut Rng) -> bool {
        match self.mode {
            TokenMode::SecretsManager => true,
            TokenMode::AuthMethod => false,
            TokenMode::Auto => random.u32(..3) > 0,
        }
    }

    /// The same scenario with one service, no grace period, and reads that lag.
    fn races(self) -> Self {
        Self {
            mode: if self.mode == TokenMode::Auto { TokenMode::Auto } else { TokenMode::SecretsManager },
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
