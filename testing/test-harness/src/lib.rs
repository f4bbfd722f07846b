//! Test doubles and fixtures around the functions and the servers that they call.
//!
//! - [`recorder`]: an HTTP server that records every request, and answers by a script or forwards to a real server.
//! - [`proxy`]: a proxy in front of a real server that injects faults and counts requests.
//! - [`function`], [`invocation`]: a function's binary, with a server for the Lambda runtime API.
//! - [`ecs_agent`]: tasks with stand-ins for the container agent and for the programs of consul-ecs.
//! - [`fleet`]: many tasks of many services, and the expected state of Consul and Secrets Manager.
//! - [`installation`]: stand-ins for AWS and Consul with tens of thousands of tasks and tokens.
//! - [`skip`]: tests whose requirements are missing.
//! - [`sources`]: the production sources as text.
//! - [`picture`]: charts in the colours of the page.
//! - [`terminal`]: what a command prints, as a picture.
//! - [`agent`], [`aws_iam`], [`jwt`], [`tls`]: client agents, logins and certificates for a real Consul.

// The harness panics with a reason when it cannot continue.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used
)]

pub mod agent;
pub mod aws_iam;
pub mod ecs_agent;
pub mod fleet;
pub mod function;
pub mod installation;
pub mod invocation;
pub mod jwt;
pub mod picture;
pub mod proxy;
pub mod recorder;
pub mod skip;
pub mod sources;
pub mod terminal;
pub mod tls;
