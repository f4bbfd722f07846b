//! The `task-events` function, deployed from our own template, between real SQS messages and a real Consul server.
//!
//! Assertions are about what Consul and Secrets Manager hold. The tests run side by side in one stack, each in a
//! cluster of its own.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

#[path = "e2e_task_events/clearing.rs"]
mod clearing;
#[path = "e2e_task_events/disorder.rs"]
mod disorder;
#[path = "e2e_task_events/faults.rs"]
mod faults;
mod fixture;
#[path = "e2e_task_events/service_tokens.rs"]
mod service_tokens;
mod stack;
#[path = "e2e_task_events/starting.rs"]
mod starting;
#[path = "e2e_task_events/template_and_events.rs"]
mod template_and_events;
mod world;
