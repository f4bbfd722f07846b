//! The looks that this environment has asked for, so that a deployment of thousands of tasks asks for few: each look lists
//! every task of every cluster.

use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use lru::LruCache;

use super::REMEMBERED_SERVICES;
use mesh::{identity::MeshService, idleness::GracePeriod};

/// When a look at each service was last asked for.
pub(super) struct AskedLooks(Mutex<LruCache<MeshService, Timestamp>>);

impl AskedLooks {
    /// None yet.
    pub(super) fn new() -> Self {
        Self(Mutex::new(LruCache::new(REMEMBERED_SERVICES)))
    }

    /// Whether a look that was asked for serves a stop that is known at `now`, too.
    pub(super) fn cover(&self, service: &MeshService, now: Timestamp, grace: GracePeriod) -> bool {
        let covered = SignedDuration::try_from(grace.covered()).unwrap_or(SignedDuration::ZERO);
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A clock that was set back tells nothing.
        asked.get(service).is_some_and(|at| (SignedDuration::ZERO..covered).contains(&now.duration_since(*at)))
    }

    /// A look at the service was asked for, no sooner than at `now`.
    pub(super) fn remember(&self, service: MeshService, now: Timestamp) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put(service, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mesh::tenancy::Tenancy;

    #[test]
    fn a_look_covers_a_twentieth_of_the_grace_period_and_only_its_service() {
        let service = |name: &str| MeshService { tenancy: Tenancy::Community, name: name.parse().unwrap() };
        let at = |second| Timestamp::from_second(second).unwrap();
        let looks = AskedLooks::new();
        looks.remember(service("web"), at(1_000));
        let covered = |name, second, grace| looks.cover(&service(name), at(second), GracePeriod::from_secs(grace));
        assert!(covered("web", 1_000, 300) && covered("web", 1_014, 300));
        assert!(!covered("web", 1_015, 300) && !covered("api", 1_000, 300));
        assert!(!covered("web", 999, 300), "the clock was set back");
        assert!(!covered("web", 1_000, 0), "without a grace period every stop is looked at at once");
    }
}
