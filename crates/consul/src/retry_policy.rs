//! Time limits and retries.

use std::time::Duration;

/// How long the client waits, and how often it tries again.
#[derive(Debug, Clone, Copy)]
pub struct RetryPolicy {
    /// Time to establish a connection.
    pub connect: Duration,
    /// Time for one request, from start to the last byte of the answer.
    pub request: Duration,
    /// The first retry comes after at most this long; each further one after at most twice as long.
    pub first_retry: Duration,
    /// How many retries.
    pub retries: usize,
    /// How long to look for the servers, and to wait for the first one to come up.
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
