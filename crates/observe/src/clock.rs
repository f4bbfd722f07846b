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
    #[must_use]
    pub fn half_way(self) -> Self {
        Self(Instant::now() + self.left() / 2)
    }

    /// The time left for work.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Runs the work, and fails when time runs out.
    ///
    /// # Errors
    /// The work's own, or [`OutOfTime`].
    pub async fn run<T, E: Timed>(self, work: impl Future<Output = Result<T, E>>) -> Result<T, E::Error> {
        if self.left().is_zero() {
            return Err(OutOfTime.into());
        }
        Ok(timeout_at(self.0, work).await.map_err(|_| OutOfTime)??)
    }
}

/// Time ran out before the work was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("time ran out before the work was done")]
pub struct OutOfTime;

/// An error of work that may run out of time.
pub trait Timed: Sized {
    /// The work's error, or [`OutOfTime`].
    type Error: From<Self> + From<OutOfTime>;
}

/// The capacity. When it is full, the least recently used key is removed.
const LIMIT: NonZeroUsize = NonZeroUsize::new(10_000).expect("10,000 is not zero");

/// A least-recently-used cache of timestamps.
pub struct TimestampCache<K: Hash + Eq>(Mutex<LruCache<K, Timestamp>>);

impl<K: Hash + Eq> Default for TimestampCache<K> {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(LIMIT)))
    }
}

impl<K: Hash + Eq> TimestampCache<K> {
    pub fn get(&self, key: &K) -> Option<Timestamp> {
        self.lock().get(key).copied()
    }

    pub fn insert(&self, key: K, at: Timestamp) {
        self.lock().put(key, at);
    }

    pub fn remove(&self, key: &K) {
        self.lock().pop(key);
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<K, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
