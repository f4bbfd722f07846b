//! A serverless controller for Consul's service mesh on Amazon ECS.
//!
//! ```text
//!  ECS ─▶ EventBridge ─▶ SQS ─▶ task-events ─▶ Consul (ACL tokens, catalog)
//!                         ▲          └───────▶ Secrets Manager (the tokens that tasks read)
//!                         └── idle checks ──┘              ▲
//!  schedule, deployment, a person ─▶ reconcile ────────────┴─▶ Consul (set up, swept, health, cleaned up)
//! ```
//!
//! Everything is level-triggered: an event never says what to do, only where to look. The parts, of which each knows only
//! those below it:
//!
//! - `bin/`, [`lambda`], [`wiring`], [`discovery`], [`logging`]: what runs in AWS Lambda.
//! - [`cli`]: what runs in a terminal.
//! - [`controller`]: observes, plans, applies.
//! - [`auditor`]: audits an account, and announces what is new.
//! - [`audit`] (a crate): judges task definitions.
//! - [`consul`], [`ecs`], [`secrets`], [`queue`], [`announce`], [`report_store`] (and [`aws`], which configures the SDK):
//!   the clients of Consul and AWS.
//! - [`mesh`] (a crate): the domain, without I/O.

pub mod announce;
pub mod auditor;
pub mod aws;
pub mod cli;
pub mod consul;
pub mod controller;
pub mod discovery;
pub mod ecs;
pub mod lambda;
pub mod logging;
pub mod queue;
pub mod report_store;
pub mod secrets;
pub mod wiring;
