//! The promises, under every order of events and every fault: schedules by the thousand, each decided by its seed.
//!
//! `SIMULATION_SECONDS` says for how long to search, `SIMULATION_FIRST_SEED` where to begin, and `SEED` which schedule to
//! replay: `SEED=42 cargo test --test simulation replay -- --nocapture`.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

#[path = "simulation/mod.rs"]
mod simulation;

use std::time::{Duration, Instant};

#[cfg(feature = "mutants")]
use simulation::runner::run_until;
use simulation::{
    runner::{run, run_for, shrink, tell},
    scenario::Limits,
};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.trim().parse().ok()
}

#[test]
fn the_promises_hold_in_every_schedule() {
    let time = Duration::from_secs(number("SIMULATION_SECONDS").unwrap_or(45));
    let start = Instant::now();
    let (count, failure) = run_for(time, number("SIMULATION_FIRST_SEED").unwrap_or(1), &Limits::WIDEST);
    if let Some(failure) = failure {
        panic!("{}\n\nshrunk from seed {}: {}", tell(&shrink(&failure)), failure.seed, failure.promise);
    }
    println!("{count} schedules, {} a second", count / start.elapsed().as_secs().max(1));
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

    let budget = Duration::from_secs(number("SIMULATION_SECONDS").unwrap_or(45));
    let (next, survivors) = (AtomicUsize::new(0), std::sync::Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(mutant) = MUTANTS.get(next.fetch_add(1, Ordering::SeqCst)) {
                    if std::env::var("MUTANT").is_ok_and(|only| only != format!("{mutant:?}")) {
                        continue;
                    }
                    activate(Some(*mutant));
                    let mut seeds = 0..;
                    match run_until(|| seeds.next().unwrap(), &Limits::WIDEST, budget, || false) {
                        Some(failure) => {
                            println!("{mutant:?}: caught by schedule {}: {}", failure.seed, failure.promise);
                        }
                        None => survivors.lock().unwrap().push(format!("{mutant:?} ({seeds:?})")),
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
