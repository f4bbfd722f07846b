//! Times of day and lengths of time. All lengths are [`Duration`]s.

use std::time::Duration;

use jiff::Timestamp;

/// The time from `since` to `now`; none where `since` is later, as another machine's clock may tell.
#[must_use]
pub fn elapsed(since: Timestamp, now: Timestamp) -> Duration {
    now.duration_since(since).try_into().unwrap_or_default()
}

/// The time of day that is `by` later than `at`, or the last one that there is.
#[must_use]
pub fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_time_is_no_time_ago() {
        let (early, late) = (Timestamp::UNIX_EPOCH, Timestamp::from_second(90).unwrap());
        assert_eq!(elapsed(early, late), Duration::from_secs(90));
        assert_eq!(elapsed(late, early), Duration::ZERO);
        assert_eq!(later(early, Duration::from_secs(90)), late);
        assert_eq!(later(early, Duration::MAX), Timestamp::MAX);
    }
}
