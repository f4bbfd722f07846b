//! The Lambda functions that keep Consul and Secrets Manager in agreement with Amazon ECS.
//!
//! ```text
//!  ECS ─▶ EventBridge ─▶ SQS ─▶ task-events ─▶ Consul (ACL tokens, catalog)
//!                         ▲          └───────▶ Secrets Manager (the tokens that tasks read)
//!                         └── idle checks ──┘              ▲
//!  schedule, deployment, a person ─▶ reconcile ────────────┴─▶ Consul (set up, swept, health, cleaned up)
//! ```
//!
//! The code is a workspace, in which each crate knows only those below it:
//!
//! ```text
//!  task-events, reconcile (here)      audit-function   cli
//!        │           │                      │  └──────┬──┘
//!        │       controller                 │     audit-live
//!        │        │      │                  │     │        │
//!      lambda   consul  aws ────────────────┴─────┘      audit
//!        └────────┴──┬───┴─────────────────────────────────┘
//!                  mesh   the domain, without I/O
//! ```
//!
//! Here are what each function does with an invocation, and the wiring of the controller to Consul and AWS.

pub mod credential;
mod custom_resource;
pub mod discovery;
pub mod reconcile;
pub mod task_events;
pub mod wiring;
