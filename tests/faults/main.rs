//! Faults on the real stack: a proxy that spoils requests, servers that die, processes that are killed and stopped, while
//! tasks start and stop.
//!
//! After each, everything has converged: the living tasks have what they need, of the stopped ones nothing is left, no
//! message is lost, and what is somebody else's is as it was. `SEED` repeats a run's decisions; `CHAOS_SECONDS` makes the
//! storm last longer.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod killed;
mod leader;
mod load;
mod outage;
mod pause;
mod storm;

use std::{io::Write, time::Duration};

/// How long the storm lasts at least.
fn chaos_time() -> Duration {
    let seconds = std::env::var("CHAOS_SECONDS").ok().map(|text| text.parse().expect("CHAOS_SECONDS is a number"));
    Duration::from_secs(seconds.unwrap_or_default())
}

/// Tells a figure, also of a test that passes.
fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "chaos: {text}");
}
