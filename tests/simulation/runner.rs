//! Runs schedules: one by its seed, or as many as fit into a time; and makes a failing one small.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use fastrand::Rng;

use super::{
    scenario::{Limits, Scenario},
    schedule::Schedule,
    world::World,
};

/// How many seeds are tried for each smaller version of a failing schedule, and for how long in all.
const TRIES: u64 = 500;
const TIME_TO_SHRINK: Duration = Duration::from_secs(20);

/// A schedule in which a promise was broken.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) seed: u64,
    pub(crate) limits: Limits,
    pub(crate) promise: String,
}

/// What one schedule came to, and what happened if that was asked for.
pub(crate) struct Run {
    pub(crate) broken: Option<String>,
    pub(crate) trace: Vec<String>,
}

/// Runs the schedule of one seed.
pub(crate) fn run(seed: u64, limits: &Limits, traced: bool) -> Run {
    // The controller's own jitter comes from this thread's generator.
    fastrand::seed(seed);
    let mut random = Rng::with_seed(seed);
    let scenario = Scenario::draw(&mut random, limits);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let mut schedule = Schedule::new(World::new(scenario, random, traced));
    runtime.block_on(schedule.run());
    let mut world = schedule.stage.world.lock().unwrap();
    Run { broken: world.broken.take(), trace: world.trace.take().unwrap_or_default() }
}

/// Runs schedules from `first` on, on every processor, until time is up: how many, and one that fails.
pub(crate) fn run_for(time: Duration, first: u64, limits: &Limits) -> (u64, Option<Failure>) {
    let (next, failure) = (AtomicU64::new(first), Mutex::new(None));
    let search = || {
        let found = run_until(|| next.fetch_add(1, Relaxed), limits, time, || failure.lock().unwrap().is_some());
        if let Some(found) = found {
            failure.lock().unwrap().get_or_insert(found);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(search);
        }
    });
    (next.into_inner() - first, failure.into_inner().unwrap())
}

/// Runs schedules on this thread until one fails, time is up, or nobody wants more.
pub(crate) fn run_until(
    mut next: impl FnMut() -> u64,
    limits: &Limits,
    time: Duration,
    is_enough: impl Fn() -> bool,
) -> Option<Failure> {
    let start = Instant::now();
    while start.elapsed() < time && !is_enough() {
        let seed = next();
        if let Some(promise) = run(seed, limits, false).broken {
            return Some(Failure { seed, limits: *limits, promise });
        }
    }
    None
}

/// A smaller schedule that breaks the same promise.
pub(crate) fn shrink(failure: &Failure) -> Failure {
    let (mut smallest, start) = (failure.clone(), Instant::now());
    let promise = |text: &str| text.split(':').next().unwrap_or_default().to_owned();
    let smaller: [fn(&mut Limits); 12] = [
        |limits| limits.extras = false,
        |limits| limits.strangers = false,
        |limits| limits.ahead = false,
        |limits| limits.faults = false,
        |limits| limits.lag = false,
        |limits| limits.clusters = 1,
        |limits| limits.services = 1,
        |limits| limits.kills = 0,
        |limits| limits.sweeps = limits.sweeps.saturating_sub(1),
        |limits| limits.tasks = 1,
        |limits| limits.tasks = limits.tasks.saturating_sub(1).max(1),
        |limits| limits.environments = limits.environments.saturating_sub(1).max(1),
    ];
    for _ in 0..3 {
        for change in smaller {
            let mut limits = smallest.limits;
            change(&mut limits);
            if limits == smallest.limits || start.elapsed() > TIME_TO_SHRINK {
                continue;
            }
            let seeds = (0..TRIES).take_while(|_| start.elapsed() < TIME_TO_SHRINK);
            let found = seeds.map(|number| failure.seed + number).find_map(|seed| {
                let broken = run(seed, &limits, false).broken?;
                (promise(&broken) == promise(&failure.promise)).then_some(Failure { seed, limits, promise: broken })
            });
            smallest = found.unwrap_or(smallest);
        }
    }
    smallest
}

/// A failure for people: what was broken, how to see it again, and step by step what happened.
pub(crate) fn tell(failure: &Failure) -> String {
    let trace = run(failure.seed, &failure.limits, true).trace.join("\n");
    format!("{trace}\n\n{}\nseed {} within {:?}", failure.promise, failure.seed, failure.limits)
}
