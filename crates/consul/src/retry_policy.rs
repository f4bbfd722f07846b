//! Time limits and retries.

use std::time::Duration;

/// Timeouts and retries of the client.
#[derive(Debug, Clone, Copy)]
pub struct RetryPolicy {
    /// The timeout of a connection attempt.
    pub connect: Duration,
    /// The timeout of one request, from start to the last byte of the answer.
    pub request: Duration,
    /// The maximum delay of the first retry; it doubles with each further one.
    pub first_retry: Duration,
    /// The number of retries.
    pub retries: usize,
    /// The timeout of the discovery of servers, including the wait for the first one to come up.
    pub discovery: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(2),
            request: Duration::from_secs(5),
            first_retry: Duration::from_millis(200),
            retries: 4,
            discovery: Duration::from_secs(20),
        }
    }
}
