//! Tokens that this environment knows to be good for a while, so that a known service's next task costs no call.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use lru::LruCache;

use super::REMEMBERED_SERVICES;
use mesh::token::TokenHolder;

/// Tokens that are good, each until a given time: see [`mesh::bounds::Bounds::relied_on_until`].
pub(super) struct ReliedTokens(Mutex<LruCache<TokenHolder, Timestamp>>);

impl ReliedTokens {
    /// None yet.
    pub(super) fn new() -> Self {
        Self(Mutex::new(LruCache::new(REMEMBERED_SERVICES)))
    }

    /// Whether the holder's token needs no look at `now`.
    pub(super) fn include(&self, holder: &TokenHolder, now: Timestamp) -> bool {
        let mut relied = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        relied.get(holder).is_some_and(|until| now < *until)
    }

    /// The holder's token is good until `until`.
    pub(super) fn remember(&self, holder: &TokenHolder, until: Timestamp) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put(holder.clone(), until);
    }

    /// The holder's token is about to go.
    pub(super) fn forget(&self, holder: &TokenHolder) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop(holder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mesh::tenancy::Tenancy;

    #[test]
    fn a_token_is_relied_on_for_as_long_as_its_version_stays() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let holder = TokenHolder::Client { tenancy: Tenancy::Community };
        let relied = ReliedTokens::new();
        relied.remember(&holder, at(1_150));
        assert!(relied.include(&holder, at(1_149)) && !relied.include(&holder, at(1_150)));
        relied.forget(&holder);
        assert!(!relied.include(&holder, at(1_149)));
    }
}
