//! What a recorder does with a request.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Semaphore;

/// What to do with a request.
pub enum Answer {
    /// Answer with status, headers and body.
    Reply(u16, Vec<(&'static str, String)>, String),
    /// Let the real server answer.
    Forward,
    /// Let the real server answer once enough requests have arrived at the gate.
    ForwardThrough(Arc<Gate>),
    /// Let the real server answer to another body, and change what it answers with status 200.
    ForwardAs(String, Translation),
    /// Never answer.
    Hang,
}

/// What is made of the real server's answer.
pub type Translation = Box<dyn FnOnce(String) -> String + Send>;

/// Holds requests back until a number of them has arrived, or until it is opened, and then lets all of them go on at once.
pub struct Gate {
    wanted: usize,
    arrived: AtomicUsize,
    open: Semaphore,
}

impl Gate {
    /// A closed gate that opens once `wanted` requests have arrived.
    pub fn of(wanted: usize) -> Arc<Self> {
        Arc::new(Self { wanted, arrived: AtomicUsize::new(0), open: Semaphore::new(0) })
    }

    /// A closed gate that only [`Self::open`] opens.
    pub fn closed() -> Arc<Self> {
        Self::of(usize::MAX)
    }

    /// Lets all requests through, those that are held and those that will arrive. Called once.
    pub fn open(&self) {
        self.open.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    /// How many requests have arrived.
    pub fn arrived(&self) -> usize {
        self.arrived.load(Ordering::SeqCst)
    }

    pub(super) async fn pass(&self) {
        if self.arrived.fetch_add(1, Ordering::SeqCst) + 1 == self.wanted {
            self.open();
        }
        self.open.acquire().await.expect("never closed").forget();
    }
}

impl Answer {
    /// A reply with status 200, this body and no headers of its own.
    pub fn ok(body: impl Into<String>) -> Self {
        Self::Reply(200, Vec::new(), body.into())
    }

    /// A reply with this HTTP status and body, and no headers of its own.
    pub fn status(status: u16, body: impl Into<String>) -> Self {
        Self::Reply(status, Vec::new(), body.into())
    }
}
