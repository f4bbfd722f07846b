//! The faults that the proxy injects.

use std::{future::Future, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

/// A fault of a request.
#[derive(Clone)]
pub struct Fault {
    pub kind: FaultKind,
    /// Whether it happens before or after the server has handled the request. A delay is always before.
    pub point: FaultPoint,
}

/// When a fault happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultPoint {
    /// The request never reaches the server.
    Before,
    /// The server has handled the request, and its answer is lost.
    After,
}

impl FaultPoint {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Before => Self::After,
            Self::After => Self::Before,
        }
    }
}

/// An action while a request is under way, given its sender's address. It returns whether it took effect.
pub type Action = Arc<dyn Fn(SocketAddr) -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;

#[derive(Clone)]
pub enum FaultKind {
    /// The request arrives late.
    Delay(Duration),
    /// The connection is reset: in the middle of the response if the server has answered.
    Reset,
    /// The connection ends in the middle of the answer's body.
    Truncate,
    /// The server throttles the request.
    Throttle,
    /// An error of the server, or of a gateway in front of it. The number selects the error.
    ServerError(usize),
    /// The request is received and never answered.
    Silence,
    /// An action on the server; the request is forwarded.
    Act(&'static str, Action),
    /// An action that ends the client; the request gets no answer.
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
    /// The name by which the fault is counted.
    pub fn name(&self) -> &'static str {
        match (&self.kind, self.point) {
            (FaultKind::Delay(_), _) => "latency",
            (FaultKind::Reset, FaultPoint::Before) => "reset before the request",
            (FaultKind::Reset, FaultPoint::After) => "reset mid-response",
            (FaultKind::Truncate, _) => "truncated body",
            (FaultKind::Throttle, _) => "throttled",
            (FaultKind::ServerError(_), FaultPoint::Before) => "5xx",
            (FaultKind::ServerError(_), FaultPoint::After) => "5xx after the work",
            (FaultKind::Silence, FaultPoint::Before) => "black hole",
            (FaultKind::Silence, FaultPoint::After) => "black hole after the work",
            (FaultKind::Act(name, _) | FaultKind::End(name, _), _) => name,
        }
    }
}

/// The seed of this run: `SEED`, or a random one. It is printed, so that the run can be repeated.
pub fn seed(test: &str) -> u64 {
    let given = std::env::var("SEED").ok().map(|seed| seed.parse().expect("SEED is a number"));
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    println!("{test}: SEED={seed}");
    seed
}
