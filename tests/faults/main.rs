//! Faults on the local stack: network faults by a proxy, servers that fail, processes that are killed, while
//! tasks start and stop.
//!
//! After each, the state has converged: the running tasks have what they demand, nothing of the stopped tasks is left, no
//! message is lost, and nothing of other owners has changed. `SEED` repeats a run's random decisions; `CHAOS_SECONDS` extends
//! `storm` and `leader`; `LOAD_TASKS` is the number of tasks that `load` replaces.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod controller;
mod leader;
mod load;
mod outage;
mod storm;

use std::{io::Write, time::Duration};

/// The least duration of `storm` and `leader`.
fn chaos_time() -> Duration {
    Duration::from_secs(number("CHAOS_SECONDS").unwrap_or_default())
}

/// A number in an environment variable.
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {text}")))
}

/// Prints a figure, also of a test that passes.
fn print_figure(text: &str) {
    let _ = writeln!(std::io::stderr(), "faults: {text}");
}
