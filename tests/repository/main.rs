//! Consistency of the repository: the template with the crates, the documentation with the tests, and rules for the sources.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod architecture;
mod dashboard;
mod iam;
mod logging;
mod metrics;
mod path_places;
mod permissions_page;
mod policies;
mod redaction;
mod reliability_page;
mod resolved;
mod sample_events;
mod shipped;
mod sizes;
mod spelling;
mod template;
mod terraform;
mod terraform_readme;
mod why_causes;
mod workflows;
