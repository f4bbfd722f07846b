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
//! What is assumed of the world, beyond what its owners document: an invocation ends with its function's time-out, no
//! single call takes longer than half a minute, answers of ECS and of Secrets Manager lag by a few seconds each, a task
//! needs longer than the two lags together to read its secret or to log in, gossip misses a dead agent within a minute,
//! and clocks are off by less than a fourteenth of the grace period and half a minute.
//!
//! Not simulated: setting Consul up (`BOOTSTRAP=none`), and more than one admin partition.

// Each switch of a scenario is a fact of its own, not a state.
#![allow(clippy::struct_excessive_bools)]
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

pub(crate) mod actions;
pub(crate) mod agents;
pub(crate) mod board;
pub(crate) mod catalog;
pub(crate) mod choice;
pub(crate) mod consul;
pub(crate) mod consul_edge;
pub(crate) mod convergence;
pub(crate) mod ecs;
pub(crate) mod ecs_edge;
pub(crate) mod environment;
pub(crate) mod life;
pub(crate) mod passing;
pub(crate) mod promises;
pub(crate) mod queue;
pub(crate) mod runner;
pub(crate) mod scenario;
pub(crate) mod schedule;
pub(crate) mod secrets;
pub(crate) mod world;
