//! The simulation can find what it looks for: each mistake that is made on purpose breaks a promise.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use mesh::mutant::{MUTANTS, activate};
use simulation::{
    runner::{Budget, first_failure},
    scenario::Limits,
};

/// As many schedules as every test run searches without a mistake.
const SCHEDULES: u64 = 4_000;

#[test]
fn every_mutant_is_caught() {
    let only = std::env::var("MUTANT").ok().filter(|name| !name.is_empty());
    let (next, survivors) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(mutant) = MUTANTS.get(next.fetch_add(1, Ordering::SeqCst)) {
                    if only.as_ref().is_some_and(|only| *only != format!("{mutant:?}")) {
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
