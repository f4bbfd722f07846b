//! The controller and its clients in the test's own process, before a real Consul, before `MiniStack`, or before recorded
//! answers of either: what exactly is asked, how often, and what is made of each answer.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod audit_edges;
mod bootstrap;
mod call_counts;
mod client;
mod concurrency;
mod enterprise;
mod environment;
mod health_sync;
mod limits;
mod revocation;
mod secrets_client;
mod security;
mod servers;
mod sweep;
mod time;
