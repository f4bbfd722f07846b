//! Runs one schedule by its seed, or searches many within a budget, and shrinks a failing one.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use fastrand::Rng;

use super::{
    deployments,
    scenario::{Limits, Scenario},
    schedule::Schedule,
    world::World,
};

/// How many seeds are tried for each lower limit while shrinking, and for how long in all.
const TRIES: u64 = 500;
const TIME_TO_SHRINK: Duration = Duration::from_secs(20);

/// A schedule in which a promise was broken.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The seed of the schedule.
    pub seed: u64,
    /// The limits of its scenario.
    pub limits: Limits,
    /// The first promise that was broken, with details.
    pub promise: String,
}

impl Failure {
    fn is_of_deployments(&self) -> bool {
        self.promise.starts_with(deployments::PREFIX)
    }
}

/// The result of one schedule, with its trace if it was requested.
pub struct Run {
    /// The first promise that was broken, with details; `None` if all were kept.
    pub broken: Option<String>,
    /// The steps in order, each with its simulated time in seconds; empty unless `traced` was set.
    pub trace: Vec<String>,
}

/// Runs the schedule of one seed.
pub fn run(seed: u64, limits: &Limits, traced: bool) -> Run {
    // The controller draws its jitter from this thread's generator.
    fastrand::seed(seed);
    let mut random = Rng::with_seed(seed);
    let scenario = Scenario::draw(&mut random, limits);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let mut schedule = Schedule::new(World::new(scenario, random, traced));
    runtime.block_on(schedule.run());
    let mut world = schedule.shared.world.lock().unwrap();
    Run { broken: world.broken.take(), trace: world.trace.take().unwrap_or_default() }
}

/// The budget of a search.
#[derive(Debug, Clone, Copy)]
pub enum Budget {
    /// A number of schedules.
    Schedules(u64),
    /// A duration.
    Time(Duration),
}

/// The result of a search.
pub struct Search {
    /// The number of schedules that were run.
    pub schedules: u64,
    /// The duration of the search.
    pub took: Duration,
    /// The first schedule that failed.
    pub failure: Option<Failure>,
}

/// Runs the schedules with seeds from `first` on, on every processor, until the budget is used up or one fails.
pub fn search(budget: Budget, first: u64, limits: &Limits) -> Search {
    let (next, failure) = (AtomicU64::new(first), Mutex::new(None));
    let (start, printed) = (Instant::now(), AtomicU64::new(0));
    let search_seeds = || {
        loop {
            let seed = next.fetch_add(1, Relaxed);
            let count = seed - first;
            if failure.lock().unwrap().is_some() || is_used_up(budget, start, count) {
                return count;
            }
            let broken = run(seed, limits, false).broken;
            let deploys = limits.extras && !limits.observes;
            if let Some(promise) = broken.or_else(|| deploys.then(|| deployments::run(seed, false).broken)?) {
                failure.lock().unwrap().get_or_insert(Failure { seed, limits: *limits, promise });
            }
            let minutes = start.elapsed().as_secs() / 60;
            if printed.fetch_max(minutes, Relaxed) < minutes {
                println!("{count} schedules after {minutes} minutes");
            }
        }
    };
    let schedules = std::thread::scope(|scope| {
        let threads = 0..std::thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = threads.map(|_| scope.spawn(search_seeds)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).min().unwrap_or_default()
    });
    Search { schedules, took: start.elapsed(), failure: failure.into_inner().unwrap() }
}

fn is_used_up(budget: Budget, start: Instant, schedules: u64) -> bool {
    match budget {
        Budget::Schedules(most) => schedules >= most,
        Budget::Time(time) => start.elapsed() >= time,
    }
}

/// Searches for a smaller schedule that breaks the same promise.
pub fn shrink(failure: &Failure) -> Failure {
    if failure.is_of_deployments() {
        return failure.clone();
    }
    let (mut smallest, start) = (failure.clone(), Instant::now());
    let promise = |text: &str| text.split(':').next().unwrap_or_default().to_owned();
    let smaller: [fn(&mut Limits); 14] = [
        |limits| limits.manual_changes = false,
        |limits| limits.races = false,
        |limits| limits.extras = false,
        |limits| limits.foreign_tokens = false,
        |limits| limits.pre_provisioned = false,
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

/// The trace of a failing schedule, the promise that it breaks, its seed and its limits.
pub fn report(failure: &Failure) -> String {
    let run = if failure.is_of_deployments() {
        deployments::run(failure.seed, true)
    } else {
        run(failure.seed, &failure.limits, true)
    };
    let trace = run.trace.join("\n");
    format!("{trace}\n\n{}\nseed {} within {:?}", failure.promise, failure.seed, failure.limits)
}
