//! A deterministic simulation of ECS, EventBridge, SQS, Consul and Secrets Manager around the controller. One seed decides every
//! task's lifecycle, every delivery, every fault, and the order in which concurrent work proceeds. The controller is the production
//! code, behind its edge traits.
//!
//! ```text
//! scenario ─▶ schedule ─▶ environments (each with a Controller) ─▶ calls: each call is pending until the schedule serves it
//!                 │                                                    │
//!                 └─▶ task lifecycles, queue, clocks, kills            ▼
//!                                 promises ◀── world: ECS, Consul, Secrets Manager, SQS
//! ```
//!
//! The timing assumptions are those of [`mesh::time::Bounds`], at a scale of seconds. Each scenario draws how far reads of
//! ECS and of Secrets Manager lag, how long a call may be stuck, and how far clocks differ; the controller is configured with
//! the bounds that hold in that scenario. In addition, an invocation ends at its function's timeout, and gossip detects a dead
//! agent within a minute.
//!
//! Each schedule has one of two dialects of Consul: the answers of Consul 1.8.7, or those of 1.21. The tests in `recordings` compare
//! both with recorded answers.
//!
//! In half of the schedules, containers start, log in and register before ECS describes their task. In some, instances of tasks
//! that are gone come back, a service has made-up ones, and ECS counts more tasks than it lists.
//!
//! Agents on hosts lose contact with ECS while their tasks run on; some hosts are gone, and hibernated ones come back.
//!
//! Each schedule has one release of consul-ecs, whose `health-sync` behaves as recorded. Containers die in running tasks, and people
//! remove entries of the catalog or bring old ones back.
//!
//! Some tasks claim a service that their role is not, or belong to another Consul: nothing is ever registered for them.
//!
//! Each seed also has a schedule of deployments, which set Consul up: see [`deployments`]. The other schedules do not
//! (`BOOTSTRAP=none`).
//!
//! Not simulated: more than one admin partition, ECS services, gateways, and `control-plane` of consul-ecs 0.7.

// The simulation panics with a reason when it cannot continue. The switches of a scenario are independent of each other.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::print_stdout,
    clippy::struct_excessive_bools,
    clippy::unwrap_used
)]

mod actions;
pub mod admission;
mod agents;
mod calls;
mod catalog;
mod catalog_changes;
mod choice;
#[cfg(test)]
mod conformance;
pub mod consul;
mod consul_edge;
pub mod containers;
mod convergence;
mod departed;
pub mod deployments;
mod dialect;
pub mod direct;
mod draining;
pub mod ecs;
mod ecs_edge;
mod environment;
mod healing;
mod health_sync;
mod hostile;
pub mod hosts;
mod manual_changes;
mod neighbours;
pub mod objects;
mod promises;
pub mod queue;
#[cfg(test)]
mod recordings;
pub mod runner;
pub mod scenario;
mod schedule;
mod secrets;
mod task_lifecycle;
mod time;
pub mod world;
