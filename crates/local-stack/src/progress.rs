//! Waits for work to be done. There is no limit on how long it takes, only on how long nothing changes.

use std::{
    fmt::Display,
    time::{Duration, Instant},
};

/// How long nothing may change. A message that has failed comes back after 15 minutes at most.
const STANDSTILL: Duration = Duration::from_mins(16);
const PAUSE: Duration = Duration::from_millis(100);

/// Tries until `probe` answers `Ok`, and returns that. Its `Err` says what it saw. If it sees the same for 16 minutes, the
/// answer is an `Err` that says what was waited for and what was seen.
pub async fn while_it_goes_on<T, E, F>(what: &str, mut probe: impl FnMut() -> F) -> Result<T, String>
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
            return Err(format!("waited for {what}; nothing has changed for {STANDSTILL:?}; last saw: {last}"));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The same, where it has to be done.
pub async fn until_done<T, E, F>(what: &str, probe: impl FnMut() -> F) -> T
where
    E: Display,
    F: Future<Output = Result<T, E>>,
{
    while_it_goes_on(what, probe).await.unwrap_or_else(|stalled| panic!("{stalled}"))
}
