//! The real stack on one machine, for tests and for the demo: a Consul server, `MiniStack` in the place of AWS, and
//! our template deployed into it. Everything listens on 127.0.0.1 only, and dies with the process that started it.
//!
//! ```text
//! wait     scratch     http     pids no knowledge of what runs
//!    process                         a child that cannot outlive us
//! consul           aws               one server each
//!             deploy                 sam deploy into an aws
//! ```

// Each of the crates that include this module uses another part of it, and a harness that cannot go on may panic.
#![allow(
    dead_code,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used
)]

pub(crate) mod agent;
pub(crate) mod aws;
pub(crate) mod consul;
pub(crate) mod deploy;
pub(crate) mod http;
pub(crate) mod jwt;
pub(crate) mod pids;
pub(crate) mod process;
pub(crate) mod scratch;
pub(crate) mod tls;
pub(crate) mod wait;

use std::path::PathBuf;
use tokio::sync::OnceCell;

use aws::Aws;
use consul::Consul;

/// Both servers, with nothing in them yet.
pub(crate) struct Stack {
    pub(crate) aws: Aws,
    pub(crate) consul: Consul,
}

impl Stack {
    pub(crate) async fn start() -> Self {
        let (aws, consul) = tokio::join!(Aws::start(), Consul::start());
        Self { aws, consul }
    }

    /// The one stack that all tests of a test binary share. They run at the same time: each must use names of its own.
    pub(crate) async fn shared() -> &'static Self {
        static STACK: OnceCell<Stack> = OnceCell::const_new();
        STACK.get_or_init(Self::start).await
    }
}

/// A path inside the repository.
fn in_repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A program that `make setup` installed.
fn tool(path: &str) -> PathBuf {
    let tool = in_repository("target/tools").join(path);
    assert!(tool.exists(), "{} is missing: run `make setup`", tool.display());
    tool
}
