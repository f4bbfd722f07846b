//! The promises, under every order of events and every fault: the same schedules in every run of the tests. `make simulate`
//! searches others.

#![allow(clippy::panic, clippy::print_stdout)]

use simulation::{
    runner::{Budget, run, search, shrink, tell},
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
