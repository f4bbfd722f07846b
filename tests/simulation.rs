//! The promises, under every order of events and every fault: schedules by the thousand, each decided by its seed.
//!
//! `SIMULATION_SCHEDULES` says how many of them, or `SIMULATION_SECONDS` for how long to search; `SIMULATION_FIRST_SEED`
//! where to begin, and `SEED` which schedule to replay: `SEED=42 cargo test --test simulation replay -- --nocapture`.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

#[path = "simulation/mod.rs"]
mod simulation;

use std::time::{Duration, Instant};

#[cfg(feature = "mutants")]
use simulation::runner::first_failure;
use simulation::{
    runner::{Budget, run, search, shrink, tell},
    scenario::Limits,
};

/// The schedules that every test run searches: about a minute's work of one processor.
const SCHEDULES: u64 = 4_000;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.trim().parse().ok()
}

fn budget(schedules: u64) -> Budget {
    let time = number("SIMULATION_SECONDS").map(|seconds| Budget::Time(Duration::from_secs(seconds)));
    time.unwrap_or_else(|| Budget::Schedules(number("SIMULATION_SCHEDULES").unwrap_or(schedules)))
}

#[test]
fn the_promises_hold_in_every_schedule() {
    let start = Instant::now();
    let found = search(budget(SCHEDULES), number("SIMULATION_FIRST_SEED").unwrap_or(1), &Limits::WIDEST);
    if let Some(failure) = found.failure {
        panic!("{}\n\nshrunk from seed {}: {}", tell(&shrink(&failure)), failure.seed, failure.promise);
    }
    let seconds = start.elapsed().as_secs();
    println!("{} schedules in {seconds} s, {} a second", found.schedules, found.schedules / seconds.max(1));
}

#[test]
fn one_seed_is_one_schedule() {
    for seed in 1..20 {
        assert_eq!(run(seed, &Limits::WIDEST, true).trace, run(seed, &Limits::WIDEST, true).trace, "seed {seed}");
    }
}

/// The simulation can find what it looks for: each mistake that is made on purpose breaks a promise.
#[cfg(feature = "mutants")]
#[test]
fn every_mutant_is_caught() {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use ecs_mesh_controller::mutant::{MUTANTS, activate};

    let (next, survivors) = (AtomicUsize::new(0), std::sync::Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(mutant) = MUTANTS.get(next.fetch_add(1, Ordering::SeqCst)) {
                    if std::env::var("MUTANT").is_ok_and(|only| only != format!("{mutant:?}")) {
                        continue;
                    }
                    activate(Some(*mutant));
                    let found = first_failure(budget(SCHEDULES), 1, &Limits::WIDEST);
                    match found.failure {
                        Some(failure) => {
                            println!("{mutant:?}: caught by schedule {}: {}", failure.seed, failure.promise);
                        }
                        None => survivors.lock().unwrap().push(format!("{mutant:?} ({} schedules)", found.schedules)),
                    }
                }
            });
        }
    });
    let survivors = survivors.into_inner().unwrap();
    assert!(survivors.is_empty(), "not caught: {survivors:?}");
}

#[test]
fn replay() {
    let Some(seed) = number("SEED") else { return };
    let run = run(seed, &Limits::WIDEST, true);
    println!("{}", run.trace.join("\n"));
    assert_eq!(run.broken, None, "seed {seed}");
}
