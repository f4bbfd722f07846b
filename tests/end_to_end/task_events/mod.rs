//! The `task-events` function, deployed from our own template, between real SQS messages and a real Consul server.
//!
//! Assertions are about what Consul and Secrets Manager hold. The tests run side by side in one stack, each in a
//! cluster of its own.

mod clearing;
mod disorder;
mod faults;
mod service_tokens;
mod starting;
mod template_and_events;
