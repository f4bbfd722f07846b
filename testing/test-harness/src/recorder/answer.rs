//! A recorder's answers to requests.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::body::{Body, Bytes};
use futures::{StreamExt as _, stream};

use tokio::sync::Semaphore;

/// The answer to a request.
pub enum Answer {
    /// Status, headers and body.
    Reply(u16, Vec<(&'static str, String)>, String),
    /// Status 200, and a body that is sent in parts, with this pause before each.
    InParts(Vec<String>, Duration),
    /// Status 200, and a body that begins so and never ends.
    Endless(&'static str),
    /// The real server's answer.
    Forward,
    /// The real server's answer, once the gate is open.
    ForwardThrough(Arc<Gate>),
    /// The real server's answer to another body; an answer with status 200 is translated.
    ForwardAs(String, Translation),
    /// No answer.
    Hang,
}

/// A translation of the body of the real server's answer.
pub type Translation = Box<dyn FnOnce(String) -> String + Send>;

/// Holds requests until a number of them has arrived, or until it is opened.
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

    /// Releases all held and later requests. Called once.
    pub fn open(&self) {
        self.open.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    /// The number of requests that have arrived.
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
    /// A reply with status 200 and this body, without headers.
    pub fn ok(body: impl Into<String>) -> Self {
        Self::Reply(200, Vec::new(), body.into())
    }

    /// A reply with this HTTP status and body, without headers.
    pub fn status(status: u16, body: impl Into<String>) -> Self {
        Self::Reply(status, Vec::new(), body.into())
    }
}

/// A body that is sent in parts, with this pause before each.
pub(super) fn in_parts(parts: Vec<String>, pause: Duration) -> Body {
    Body::from_stream(stream::unfold(parts.into_iter(), move |mut parts| async move {
        let part = parts.next()?;
        tokio::time::sleep(pause).await;
        Some((Ok::<_, Infallible>(part), parts))
    }))
}

/// A body that begins with a text and never ends.
pub(super) fn endless(start: &'static str) -> Body {
    let rest = stream::repeat(Bytes::from(vec![b'x'; 1 << 20]));
    Body::from_stream(stream::once(async { Bytes::from_static(start.as_bytes()) }).chain(rest).map(Ok::<_, Infallible>))
}
