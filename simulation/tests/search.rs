//! The promises, under every order of events and every fault: the same schedules in every run of the tests, which
//! `make simulate` continues with others; and that the search finds what it looks for.

#![allow(clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use mesh::mutant::{MUTANTS, activate};
use simulation::{
    runner::{Budget, first_failure, run, search, shrink, tell},
    scenario::Limits,
};

/// The schedules that every test run searches.
const SCHEDULES: u64 = 4_000;

#[test]
fn the_promises_hold_in_every_schedule() {
    let found = search(Budget::Schedules(SCHEDULES), 1, &Limits::WIDEST);
    if let Some(failure) = found.failure {
        panic!("{}\n\nshrunk from seed {}: {}", tell(&shrink(&failure)), failure.seed, failure.promise);
    }
    println!("{} schedules in {:.0?}", found.schedules, found.took);
}

#[test]
fn one_seed_is_one_schedule() {
    for seed in 1..20 {
        assert_eq!(run(seed, &Limits::WIDEST, true).trace, run(seed, &Limits::WIDEST, true).trace, "seed {seed}");
    }
}

/// Each mistake that is made on purpose breaks a promise within the schedules that every test run searches. `MUTANT` names one
/// of them.
#[test]
fn every_mutant_is_caught() {
    let only = std::env::var("MUTANT").ok().filter(|name| !name.is_empty());
    let is_meant = |name: &str| only.as_ref().is_none_or(|only| only == name);
    assert!(MUTANTS.iter().any(|mutant| is_meant(&format!("{mutant:?}"))), "no mutant {only:?}; there are {MUTANTS:?}");
    let (next, survivors) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(mutant) = MUTANTS.get(next.fetch_add(1, Ordering::SeqCst)) {
                    if !is_meant(&format!("{mutant:?}")) {
                        continue;
                    }
                    activate(Some(*mutant));
                    let found = first_failure(Budget::Schedules(SCHEDULES), 1, &Limits::WIDEST);
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
