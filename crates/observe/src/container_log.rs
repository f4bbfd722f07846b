//! The log of a container, which its driver writes to `CloudWatch` Logs.

use aws::logs::{LogEvent, Logs, LogsError};

/// How many lines are read: a part of one page.
const MOST_LINES: u16 = 200;

/// The last lines of a container's log, oldest first.
///
/// # Errors
///
/// If the caller may not read the stream, or if it does not exist.
pub async fn last_lines(logs: &dyn Logs, group: &str, stream: &str) -> Result<Vec<LogEvent>, LogsError> {
    logs.last_lines(group, stream, MOST_LINES).await
}
