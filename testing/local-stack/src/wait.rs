//! Waiting for a condition, with a deadline.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// How long tests wait for the stack: far longer than it takes, because no test depends on the machine's speed.
pub const SOON: Duration = Duration::from_mins(5);

const PAUSE: Duration = Duration::from_millis(50);

/// Repeats `probe` until it returns `Ok`; its `Err` is the observed state. Panics with the last state after `deadline`.
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
                panic!("waited {deadline:?} for {what}; last state: {seen}")
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
