//! The local stack, for tests and for the demo: a Consul server, `MiniStack` in place of AWS, and the template deployed into it.
//! Everything listens on loopback only, and ends with the process that started it.
//!
//! ```text
//! wait    progress    scratch    http    pids   helpers
//!    process     ports                    child processes, and the ports of servers
//! consul           aws                    one server each
//!                 users                   who calls AWS
//!           functions                     the functions' binaries, and the template that names them
//!         permitted                       what IAM refuses to the functions
//!             deploy                      `sam deploy`
//!              world                      clusters, task definitions, tasks, and their events
//! ```
//!
//! Each module uses those above it.

// The harness panics with a reason when it cannot continue.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used
)]

pub mod aws;
pub mod consul;
pub mod deploy;
pub mod functions;
pub mod http;
pub mod permitted;
pub mod pids;
pub mod ports;
pub mod process;
pub mod progress;
pub mod scratch;
pub mod users;
pub mod wait;
pub mod world;

use std::path::{Path, PathBuf};
use tokio::sync::OnceCell;

use aws::Aws;
use consul::Consul;

/// Both servers, without content.
pub struct Stack {
    pub aws: Aws,
    pub consul: Consul,
}

impl Stack {
    /// Starts both servers.
    pub async fn start() -> Self {
        let (aws, consul) = tokio::join!(Aws::start(), Consul::start());
        Self { aws, consul }
    }

    /// The stack that all tests of a test binary share. They run concurrently, so that each must use unique names.
    pub async fn shared() -> &'static Self {
        static STACK: OnceCell<Stack> = OnceCell::const_new();
        STACK.get_or_init(Self::start).await
    }
}

/// A path inside the repository.
pub fn in_repository(path: &str) -> PathBuf {
    // This package is in testing/local-stack.
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository");
    repository.join(path)
}

/// A program that `make setup` installed.
fn tool(path: &str) -> PathBuf {
    let tool = in_repository("target/tools").join(path);
    assert!(tool.exists(), "{} is missing: run `make setup`", tool.display());
    tool
}
