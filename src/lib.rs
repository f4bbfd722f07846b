//! The Lambda functions `task-events` and `reconcile`, which synchronize Consul and Secrets Manager with Amazon ECS.
//!
//! ```text
//!  ECS ─▶ EventBridge ─▶ SQS ─▶ task-events ─▶ Consul (ACL tokens, catalog)
//!                         ▲          └───────▶ Secrets Manager (the tokens that tasks read)
//!                         └── idle checks ──┘              ▲
//!  schedule, deployment, operator ─▶ reconcile ────────────┴─▶ Consul (set up, swept, cleaned up)
//! ```
//!
//! This crate contains the handlers of the functions, and connects the controller to Consul and AWS.
//! docs/contributing/architecture.md has the crates below it.

pub mod custom_resource;
pub mod reconcile;
pub mod task_events;
pub mod wiring;
