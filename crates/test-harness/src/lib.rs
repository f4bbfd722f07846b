//! What tests put between a program and the servers that it calls, and whom they have call it.
//!
//! - [`recorder`]: an HTTP server that records every request, and answers by a script or forwards to a real server.
//! - [`proxy`]: a proxy before a real server that spoils requests, and counts what passes.
//! - [`function`], [`invocation`]: a function's own binary, with a Lambda in miniature before it.
//! - [`crowd`]: many tasks of many services at once, and what Consul and Secrets Manager then have to hold.
//! - [`skip`]: tests that cannot run here.
//! - [`sources`]: what is shipped, as text.
//! - [`agent`], [`jwt`], [`tls`]: client agents, logins and certificates for a real Consul.

// The harness panics with a reason when it cannot continue.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used
)]

pub mod agent;
pub mod fleet;
pub mod function;
pub mod invocation;
pub mod jwt;
pub mod proxy;
pub mod recorder;
pub mod skip;
pub mod sources;
pub mod tls;
