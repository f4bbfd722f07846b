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
//! - `events`, `sweep`, `bootstrap`, `check`, `unused_secrets`, `cleanup`: the operations of [`Controller`].
//! - `observe` (single tasks), `survey` (whole clusters), `tasks`: reads. Only `tasks` classifies tasks.
//! - `repair`: registers what Consul lacks of running tasks, corrects checks, and finds tasks that cannot be repaired.
//! - `apply`, `tokens`: writes; `announcement`: what is logged, counted and announced of them.
//! - [`Edges`]: the external services, behind traits, which the simulation implements; `observing`: without their writes.

mod announcement;
mod apply;
pub mod bootstrap;
mod check;
mod cleanup;
mod clock;
mod controller;
mod edges;
mod error;
mod events;
mod message;
mod observe;
mod observing;
mod outcome;
mod repair;
mod scope;
pub mod settings;
mod survey;
mod sweep;
mod tasks;
mod tokens;
mod unused_secrets;

pub use self::{
    bootstrap::{BootstrapError, BootstrapFailure, BootstrapReport},
    check::{MissingPermission, PreflightError},
    cleanup::CleanupReport,
    clock::{Clock, Deadline, SystemClock},
    controller::Controller,
    edges::{Consul, Ecs, Edges, Entropy, Queue, Secrets, Setup, SystemEntropy},
    error::ControllerError,
    events::{BatchReport, Failure},
    message::Delivery,
    scope::Scope,
    survey::{SweepOrder, Waited},
    unused_secrets::{UnusedSecretsOrder, UnusedSecretsReport},
};
