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
pub struct Failure {
    /// The seed of the schedule.
    pub seed: u64,
    /// The limits that its scenario was drawn within.
    pub limits: Limits,
    /// The first promise that was broken, and how.
    pub promise: String,
}

/// What one schedule came to, and what happened if that was asked for.
pub struct Run {
    /// The first promise that was broken, and how; `None` if all were kept.
    pub broken: Option<String>,
    /// The steps in order, each with its simulated time in seconds; empty unless `run` was asked for a trace.
    pub trace: Vec<String>,
}

/// Runs the schedule of one seed.
pub fn run(seed: u64, limits: &Limits, traced: bool) -> Run {
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

/// How long to search.
#[derive(Debug, Clone, Copy)]
pub enum Budget {
    /// So many schedules: the same ones every time.
    Schedules(u64),
    /// As many as fit into a time.
    Time(Duration),
}

/// What a search came to.
pub struct Search {
    /// How many schedules were run.
    pub schedules: u64,
    /// How long it took.
    pub took: Duration,
    /// The first one that failed.
    pub failure: Option<Failure>,
}

/// Runs the schedules from `first` on, on every processor, until the budget is used up or one fails.
pub fn search(budget: Budget, first: u64, limits: &Limits) -> Search {
    let (next, failure) = (AtomicU64::new(first), Mutex::new(None));
    let (start, told) = (Instant::now(), AtomicU64::new(0));
    let look = || {
        loop {
            let seed = next.fetch_add(1, Relaxed);
            let count = seed - first;
            if failure.lock().unwrap().is_some() || is_used_up(budget, start, count) {
                return count;
            }
            if let Some(promise) = run(seed, limits, false).broken {
                failure.lock().unwrap().get_or_insert(Failure { seed, limits: *limits, promise });
            }
            let minutes = start.elapsed().as_secs() / 60;
            if told.fetch_max(minutes, Relaxed) < minutes {
                println!("{count} schedules after {minutes} minutes");
            }
        }
    };
    let schedules = std::thread::scope(|scope| {
        let threads = 0..std::thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = threads.map(|_| scope.spawn(look)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).min().unwrap_or_default()
    });
    Search { schedules, took: start.elapsed(), failure: failure.into_inner().unwrap() }
}

/// The first of the schedules from `first` on that fails, on this thread.
pub fn first_failure(budget: Budget, first: u64, limits: &Limits) -> Search {
    let start = Instant::now();
    for seed in first.. {
        let schedules = seed - first;
        if is_used_up(budget, start, schedules) {
            return Search { schedules, took: start.elapsed(), failure: None };
        }
        if let Some(promise) = run(seed, limits, false).broken {
            let failure = Some(Failure { seed, limits: *limits, promise });
            return Search { schedules: schedules + 1, took: start.elapsed(), failure };
        }
    }
    Search { schedules: 0, took: start.elapsed(), failure: None }
}

fn is_used_up(budget: Budget, start: Instant, schedules: u64) -> bool {
    match budget {
        Budget::Schedules(most) => schedules >= most,
        Budget::Time(time) => start.elapsed() >= time,
    }
}

/// A smaller schedule that breaks the same promise.
pub fn shrink(failure: &Failure) -> Failure {
    let (mut smallest, start) = (failure.clone(), Instant::now());
    let promise = |text: &str| text.split(':').next().unwrap_or_default().to_owned();
    let smaller: [fn(&mut Limits); 14] = [
        |limits| limits.disturbed = false,
        |limits| limits.hasty = false,
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
pub fn tell(failure: &Failure) -> String {
    let trace = run(failure.seed, &failure.limits, true).trace.join("\n");
    format!("{trace}\n\n{}\nseed {} within {:?}", failure.promise, failure.seed, failure.limits)
}
