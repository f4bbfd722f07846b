//! Waiting for something to become true, with a deadline, and with a say about what was seen instead.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// How long a test waits for the stack to react. Far more than it takes: no test is about how fast a machine is.
pub const SOON: Duration = Duration::from_mins(5);

const PAUSE: Duration = Duration::from_millis(50);

/// Tries until `probe` answers `Ok`, and returns that. Its `Err` says what it saw; the last one is shown when time is
/// up.
pub async fn eventually<T, E, F>(what: &str, deadline: Duration, mut probe: impl FnMut() -> F) -> T
where
    E: Display,
    F: Future<Output = Result<T, E>>,
{
    let start = Instant::now();
    loop {
        match probe().await {
            Ok(value) => return value,
            Err(seen) if start.elapsed() > deadline => {
                panic!("waited {deadline:?} in vain for {what}; last saw: {seen}")
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
