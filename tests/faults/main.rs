//! Faults on the real stack: a proxy that spoils requests, servers that die, processes that are killed and stopped, while
//! tasks start and stop.
//!
//! After each, everything has converged: the living tasks have what they need, of the stopped ones nothing is left, no
//! message is lost, and what is somebody else's is as it was. `SEED` repeats a run's decisions; `CHAOS_SECONDS` makes the
//! storm and the rounds of `leader` and `pause` last longer; `LOAD_TASKS` is how many tasks `load` replaces.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod controller;
mod killed;
mod leader;
mod load;
mod outage;
mod pause;
mod storm;

use std::{io::Write, time::Duration};

/// How long the storm, and the rounds of `leader` and `pause`, go on at least.
fn chaos_time() -> Duration {
    Duration::from_secs(number("CHAOS_SECONDS").unwrap_or_default())
}

/// A number in the environment.
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")))
}

/// Tells a figure, also of a test that passes.
fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "faults: {text}");
}
