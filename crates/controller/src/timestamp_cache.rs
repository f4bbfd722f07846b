//! What an environment remembers between invocations: a time for each thing that it knows.

use std::{
    hash::Hash,
    num::NonZeroUsize,
    sync::{Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use lru::LruCache;

/// How many things are cached. Then the one that was asked for longest ago is forgotten.
const LIMIT: NonZeroUsize = NonZeroUsize::new(10_000).expect("10,000 is not zero");

/// A time for each of a limited number of things.
pub(crate) struct TimestampCache<K: Hash + Eq>(Mutex<LruCache<K, Timestamp>>);

impl<K: Hash + Eq> TimestampCache<K> {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(LruCache::new(LIMIT)))
    }

    /// The time that is cached for `key`.
    pub(crate) fn get(&self, key: &K) -> Option<Timestamp> {
        self.lock().get(key).copied()
    }

    /// Remembers `at` for `key`, in the place of an earlier time.
    pub(crate) fn insert(&self, key: K, at: Timestamp) {
        self.lock().put(key, at);
    }

    /// Forgets `key`.
    pub(crate) fn remove(&self, key: &K) {
        self.lock().pop(key);
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<K, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
