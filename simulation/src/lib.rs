//! A deterministic simulation of everything around the controller: one seed decides on every task's life, every
//! delivery, every fault, and on who goes on next. The controller is the real one, behind its edge traits.
//!
//! ```text
//! scenario ─▶ schedule ─▶ environments (each a real Controller) ─▶ board: every call waits there to be served
//!                 │                                                    │
//!                 └─▶ life, queue, clock, kills                        ▼
//!                                 promises ◀── world: ECS, Consul, Secrets Manager, SQS
//! ```
//!
//! What is assumed of the world, beyond what its owners document, is what [`mesh::bounds::Bounds`] says, at a scale of seconds:
//! each scenario draws how late answers of ECS and of Secrets Manager are, how long a call may be stuck, and how far clocks
//! differ, and the controller is told the bounds that hold there. Besides, an invocation ends with its function's time-out, and
//! gossip misses a dead agent within a minute.
//!
//! Not simulated: setting Consul up (`BOOTSTRAP=none`), and more than one admin partition.

// A simulation that cannot go on panics, and says why. Each switch of a scenario is a fact of its own, not a state.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::panic,
    clippy::print_stdout,
    clippy::struct_excessive_bools,
    clippy::unwrap_used
)]

mod actions;
mod agents;
mod board;
mod catalog;
mod choice;
#[cfg(test)]
mod conformance;
mod consul;
mod consul_edge;
mod convergence;
mod disturbances;
mod ecs;
mod ecs_edge;
mod environment;
mod life;
mod passing;
mod promises;
mod queue;
pub mod runner;
pub mod scenario;
mod schedule;
mod secrets;
mod world;
