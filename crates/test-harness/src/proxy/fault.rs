//! The faults, and how each looks from outside.

use std::{future::Future, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

/// What happens to a request.
#[derive(Clone)]
pub struct Fault {
    /// The kind of fault.
    pub what: What,
    /// Whether it happens before or after the server has handled the request; a delay always comes before.
    pub when: When,
}

/// Whether the server has done its work by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    /// The request never reaches the server.
    Before,
    /// The server has done what was asked, and its answer is lost.
    After,
}

impl When {
    /// Before instead of after, and after instead of before.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Before => Self::After,
            Self::After => Self::Before,
        }
    }
}

/// What is done while a request is under way, given its sender's address. The answer says whether it took effect.
pub type Action = Arc<dyn Fn(SocketAddr) -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;

/// The kinds of faults.
#[derive(Clone)]
pub enum What {
    /// The request arrives late.
    Delay(Duration),
    /// The connection is reset: mid-response, where the server has answered.
    Reset,
    /// The connection ends in the middle of the answer's body.
    Truncate,
    /// The server says that there are too many requests.
    Throttle,
    /// An error of the server, or of a gateway before it. The number chooses among them.
    ServerError(usize),
    /// Taken, and never answered.
    Silence,
    /// Something is done to the server, and the request goes on.
    Act(&'static str, Action),
    /// Something is done to the client, and it gets no answer.
    End(&'static str, Action),
}

/// An action from an asynchronous function.
pub fn action<F>(act: impl Fn(SocketAddr) -> F + Send + Sync + 'static) -> Action
where
    F: Future<Output = bool> + Send + 'static,
{
    Arc::new(move |peer| Box::pin(act(peer)))
}

impl Fault {
    /// A name for counting.
    pub fn name(&self) -> &'static str {
        match (&self.what, self.when) {
            (What::Delay(_), _) => "latency",
            (What::Reset, When::Before) => "reset before the request",
            (What::Reset, When::After) => "reset mid-response",
            (What::Truncate, _) => "truncated body",
            (What::Throttle, _) => "throttled",
            (What::ServerError(_), When::Before) => "5xx",
            (What::ServerError(_), When::After) => "5xx after the work",
            (What::Silence, When::Before) => "black hole",
            (What::Silence, When::After) => "black hole after the work",
            (What::Act(name, _) | What::End(name, _), _) => name,
        }
    }
}

/// The seed of this run: `SEED`, or a new one. It is printed, so that a run can be repeated.
pub fn seed(test: &str) -> u64 {
    let given = std::env::var("SEED").ok().map(|seed| seed.parse().expect("SEED is a number"));
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    println!("{test}: SEED={seed}");
    seed
}
