//! The functions as deployed by the SAM CLI from the template, with SQS messages and a real Consul; and their binaries, started
//! as by Lambda.
//!
//! The tests run concurrently in one stack, each in its own cluster.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod audit;
mod audit_live;
mod by_hand;
mod crash;
mod deployer;
mod fixture;
mod healing;
mod incidents;
mod large;
mod leaks;
mod logins;
mod metrics;
mod observe;
mod reconcile;
mod startup;
mod task_events;
mod upgrade;
