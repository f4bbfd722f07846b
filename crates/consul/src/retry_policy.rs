//! Time limits and retries.

use std::time::Duration;

/// Timeouts and retries of the client.
#[derive(Debug, Clone, Copy)]
pub struct RetryPolicy {
    /// The timeout of a connection attempt.
    pub connect: Duration,
    /// The timeout of one request, from start to the last byte of the answer.
    pub request: Duration,
    /// The same for lists, whose answers grow with the number of tasks and tokens: of tokens, of the services and checks
    /// on the node of a cluster, and of agents.
    pub list: Duration,
    /// How long the first byte of a list, or the next one, may take. After that, another server is asked.
    pub silence: Duration,
    /// The maximum delay of the first retry; it doubles with each further one.
    pub first_retry: Duration,
    /// The number of retries.
    pub retries: usize,
    /// The timeout of the discovery of servers, including the wait for the first one to come up.
    pub discovery: Duration,
}

impl RetryPolicy {
    /// For a batch of events, which has 60 seconds. Its reads end after half of the time that is left, 28 seconds: a list
    /// may take 25 of them.
    pub fn for_events() -> Self {
        Self {
            connect: Duration::from_secs(2),
            request: Duration::from_secs(5),
            list: Duration::from_secs(25),
            silence: Duration::from_secs(10),
            first_retry: Duration::from_millis(200),
            retries: 4,
            discovery: Duration::from_secs(20),
        }
    }

    /// For a sweep or a deployment, which has 300 seconds. A request ends long before the bound `call` of the token
    /// lifecycle, 30 seconds, within which it takes effect or not at all.
    pub fn for_sweeps() -> Self {
        Self {
            request: Duration::from_secs(10),
            list: Duration::from_secs(100),
            silence: Duration::from_secs(30),
            ..Self::for_events()
        }
    }
}
