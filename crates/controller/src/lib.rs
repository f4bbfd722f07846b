//! The controller: observes the state of ECS and Consul, plans ([`mesh::plan`]), and applies the plan.
//!
//! ```text
//!  messages ─▶ events ─▶ observe ──┐
//!                 │                ├─▶ mesh::plan ─▶ apply ─▶ tokens · nodes · catalog
//!  schedule ─▶ sweep ─┬▶ survey ───┘                   │
//!                 └─▶ bootstrap                        └─▶ idle check, delayed ─▶ events
//!  deployment ─▶ preflight, bootstrap, sweep; deletion of the stack ─▶ cleanup
//! ```
//!
//! - `events`, `sweep`, `bootstrap`, `preflight`, `check`, `unused_secrets`, `cleanup`: the operations of [`Controller`].
//! - `observe` (single tasks), `survey` (whole clusters), `tasks`, `definitions`: reads. Only `definitions` classifies tasks.
//! - `repair`: what Consul has forgotten of running tasks; `broken`: those that cannot be repaired; `healing`: what is logged
//!   and announced of both.
//! - `apply`, `tokens`: writes.
//! - [`Edges`]: the external services, behind traits, which the simulation implements; `observing`: without their writes.

mod agents;
mod announcement;
mod announcer;
mod apply;
pub mod bootstrap;
mod broken;
mod check;
mod cleanup;
mod clock;
mod controller;
mod counting;
mod deadline;
mod definitions;
mod edges;
mod entropy;
mod error;
mod events;
mod healing;
mod message;
mod observe;
mod observing;
mod outcome;
mod preflight;
mod repair;
mod scope;
pub mod settings;
mod survey;
mod sweep;
mod tasks;
mod timestamp_cache;
mod tokens;
mod unused_secrets;

pub use self::{
    bootstrap::{BootstrapError, BootstrapFailure, BootstrapReport},
    cleanup::CleanupReport,
    clock::{Clock, SystemClock},
    controller::Controller,
    deadline::Deadline,
    edges::{Consul, Ecs, Edges, Queue, Secrets, Setup},
    entropy::{Entropy, SystemEntropy},
    error::ControllerError,
    events::{BatchReport, Delivery, Failure},
    preflight::{MissingPermission, PreflightError},
    scope::Scope,
    survey::{SweepOrder, Waited},
    unused_secrets::{UnusedSecretsOrder, UnusedSecretsReport},
};
