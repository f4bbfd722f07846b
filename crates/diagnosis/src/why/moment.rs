//! Moments in sentences.

use jiff::Timestamp;

/// A moment, as sentences say it.
pub(super) fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}
