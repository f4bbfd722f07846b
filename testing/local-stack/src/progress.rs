//! Waiting for work that makes progress: the limit is on the time without a change, not on the whole time.

use std::{
    fmt::Display,
    time::{Duration, Instant},
};

/// The longest time without a change. A failed message returns after 15 minutes at most.
const STANDSTILL: Duration = Duration::from_mins(16);
const PAUSE: Duration = Duration::from_millis(100);

/// Repeats `probe` until it returns `Ok`; its `Err` is the observed state. If that does not change for 16 minutes, returns an `Err`
/// with `what` and the state.
pub async fn wait_while_progressing<T, E, F>(what: &str, mut probe: impl FnMut() -> F) -> Result<T, String>
where
    E: Display,
    F: Future<Output = Result<T, E>>,
{
    let (mut last, mut since) = (String::new(), Instant::now());
    loop {
        let seen = match probe().await {
            Ok(value) => return Ok(value),
            Err(seen) => seen.to_string(),
        };
        if seen != last {
            (last, since) = (seen, Instant::now());
        }
        if since.elapsed() > STANDSTILL {
            return Err(format!("waited for {what}; nothing has changed for {STANDSTILL:?}; last state: {last}"));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The same, but panics without progress.
pub async fn wait_until_done<T, E, F>(what: &str, probe: impl FnMut() -> F) -> T
where
    E: Display,
    F: Future<Output = Result<T, E>>,
{
    wait_while_progressing(what, probe).await.unwrap_or_else(|stalled| panic!("{stalled}"))
}
