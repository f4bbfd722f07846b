//! The `task-events` function, deployed from the template, with SQS messages and a real Consul server.
//!
//! Assertions are about the state of Consul and Secrets Manager. The tests run concurrently in one stack, each in its own cluster.

mod clearing;
mod faults;
mod generations;
mod invalid;
mod starting;
mod template_and_events;
