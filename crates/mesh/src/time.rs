//! Arithmetic with timestamps. All durations are [`Duration`]s.

use std::time::Duration;

use jiff::Timestamp;

/// The time from `since` to `now`; zero if `since` is later, as the clock of another machine may be ahead.
pub fn elapsed(since: Timestamp, now: Timestamp) -> Duration {
    now.duration_since(since).try_into().unwrap_or_default()
}

/// The time `by` after `at`, at most [`Timestamp::MAX`].
pub fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_since_a_later_time_is_zero() {
        let (early, late) = (Timestamp::UNIX_EPOCH, Timestamp::from_second(90).unwrap());
        assert_eq!(elapsed(early, late), Duration::from_secs(90));
        assert_eq!(elapsed(late, early), Duration::ZERO);
        assert_eq!(later(early, Duration::from_secs(90)), late);
        assert_eq!(later(early, Duration::MAX), Timestamp::MAX);
    }
}
