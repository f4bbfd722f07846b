//! The tokens that this environment knows to be good, so that a start of a service that it has just seen costs no call.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use jiff::{SignedDuration, Timestamp};
use lru::LruCache;

use super::REMEMBERED_SERVICES;
use mesh::{
    arn::ClusterArn,
    idleness::GracePeriod,
    mutant::{self, Mutant},
    token::TokenHolder,
};

/// Tokens known to be good, each until a given time: see [`GracePeriod::trusted`].
///
/// Only for the cluster in which the task was seen that proved it: of a cluster that is deleted ECS shows no stopped task
/// any more, and then nothing but this keeps a service from being idle while its token is still trusted elsewhere.
pub(super) struct TrustedTokens(Mutex<LruCache<TokenHolder, BTreeMap<ClusterArn, Timestamp>>>);

impl TrustedTokens {
    /// None yet.
    pub(super) fn new() -> Self {
        Self(Mutex::new(LruCache::new(REMEMBERED_SERVICES)))
    }

    /// Whether the holder's token needs no look at `now`, for a task in `cluster`.
    pub(super) fn include(&self, holder: &TokenHolder, cluster: &ClusterArn, now: Timestamp) -> bool {
        let mut trusted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        trusted.get(holder).and_then(|clusters| clusters.get(cluster)).is_some_and(|until| now < *until)
    }

    /// The holder's token was good at `now`, after a task of it in `cluster` was seen active at `seen`.
    pub(super) fn remember(
        &self,
        holder: &TokenHolder,
        cluster: &ClusterArn,
        (seen, now): (Timestamp, Timestamp),
        grace: GracePeriod,
    ) {
        let trusted_for = SignedDuration::try_from(grace.trusted()).unwrap_or(SignedDuration::ZERO);
        // An event from the future would extend the trust beyond what the proof in `GracePeriod` allows.
        let seen = if mutant::is(Mutant::TrustsForEver) { now + SignedDuration::from_hours(10) } else { seen.min(now) };
        let Ok(until) = seen.checked_add(trusted_for) else { return };
        let mut trusted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        trusted.get_or_insert_mut(holder.clone(), BTreeMap::new).insert(cluster.clone(), until);
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
    fn a_token_is_trusted_for_half_of_the_grace_period_and_only_in_the_cluster_of_the_task() {
        let cluster = |name| format!("arn:aws:ecs:us-east-1:123456789012:cluster/{name}").parse().unwrap();
        let (one, other) = (cluster("one"), cluster("other"));
        let at = |second| Timestamp::from_second(second).unwrap();
        let holder = TokenHolder::Client { tenancy: Tenancy::Community };
        let (trusted, grace) = (TrustedTokens::new(), GracePeriod::from_secs(300));
        trusted.remember(&holder, &one, (at(1_000), at(1_010)), grace);
        assert!(trusted.include(&holder, &one, at(1_149)));
        assert!(!trusted.include(&holder, &one, at(1_150)) && !trusted.include(&holder, &other, at(1_020)));
        // An event from the future does not extend it
        trusted.remember(&holder, &other, (at(9_000), at(1_010)), grace);
        assert!(trusted.include(&holder, &other, at(1_159)) && !trusted.include(&holder, &other, at(1_160)));
        trusted.forget(&holder);
        assert!(!trusted.include(&holder, &one, at(1_020)) && !trusted.include(&holder, &other, at(1_020)));
    }
}
