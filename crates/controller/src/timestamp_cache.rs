//! A cache of timestamps, which an execution environment keeps between invocations.

use std::{
    hash::Hash,
    num::NonZeroUsize,
    sync::{Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use lru::LruCache;

/// The capacity. When it is full, the least recently used key is removed.
const LIMIT: NonZeroUsize = NonZeroUsize::new(10_000).expect("10,000 is not zero");

/// A least-recently-used cache of timestamps.
pub(crate) struct TimestampCache<K: Hash + Eq>(Mutex<LruCache<K, Timestamp>>);

impl<K: Hash + Eq> TimestampCache<K> {
    /// An empty cache.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(LruCache::new(LIMIT)))
    }

    /// The timestamp of `key`.
    pub(crate) fn get(&self, key: &K) -> Option<Timestamp> {
        self.lock().get(key).copied()
    }

    /// Sets the timestamp of `key`.
    pub(crate) fn insert(&self, key: K, at: Timestamp) {
        self.lock().put(key, at);
    }

    /// Removes `key`.
    pub(crate) fn remove(&self, key: &K) {
        self.lock().pop(key);
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<K, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
