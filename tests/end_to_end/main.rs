//! The functions as they are deployed: by the SAM CLI from our own template, between real SQS messages and a real Consul; and
//! their binaries, started as Lambda starts them.
//!
//! The tests run side by side in one stack, each in a cluster of its own.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod audit;
mod audit_live;
mod crash;
mod fixture;
mod iam;
mod leaks;
mod reconcile;
mod stack;
mod startup;
mod task_events;
