//! Time: the clock, the deadline of an invocation, and timestamps that an execution environment keeps between invocations.

use std::{
    future::Future,
    hash::Hash,
    num::NonZeroUsize,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use lru::LruCache;
use tokio::time::{Instant, timeout_at};

use crate::error::ControllerError;

pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// The time reserved for the answer, for returning messages, and for sending events.
const RESERVE: Duration = Duration::from_secs(4);

/// The end of the work of an invocation, before Lambda's own timeout.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Instant);

impl Deadline {
    /// Work may take `remaining`, less a reserve for returning messages.
    pub fn after(remaining: Duration) -> Self {
        Self(Instant::now() + remaining.saturating_sub(RESERVE))
    }

    /// A deadline after half of the time left: for reads, so that the other half is left for writes.
    pub(crate) fn half_way(self) -> Self {
        Self(Instant::now() + self.left() / 2)
    }

    /// The time left for work.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Runs the work, and fails when time runs out.
    pub(crate) async fn run<T, E>(self, work: impl Future<Output = Result<T, E>>) -> Result<T, ControllerError>
    where
        E: Into<ControllerError>,
    {
        if self.left().is_zero() {
            return Err(ControllerError::OutOfTime);
        }
        timeout_at(self.0, work).await.map_err(|_| ControllerError::OutOfTime)?.map_err(Into::into)
    }
}

/// The capacity. When it is full, the least recently used key is removed.
const LIMIT: NonZeroUsize = NonZeroUsize::new(10_000).expect("10,000 is not zero");

/// A least-recently-used cache of timestamps.
pub(crate) struct TimestampCache<K: Hash + Eq>(Mutex<LruCache<K, Timestamp>>);

impl<K: Hash + Eq> TimestampCache<K> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(LruCache::new(LIMIT)))
    }

    pub(crate) fn get(&self, key: &K) -> Option<Timestamp> {
        self.lock().get(key).copied()
    }

    pub(crate) fn insert(&self, key: K, at: Timestamp) {
        self.lock().put(key, at);
    }

    pub(crate) fn remove(&self, key: &K) {
        self.lock().pop(key);
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<K, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
