//! Requests at a steady rate, and how many of them fail.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::{task::JoinHandle, time::MissedTickBehavior};

/// 80 requests a second.
const BETWEEN: Duration = Duration::from_micros(12_500);
/// An answer that takes longer has failed.
const LONGEST: Duration = Duration::from_secs(2);
/// Requests that still fail so late in the watched time do not stop failing.
const END: Duration = Duration::from_secs(3);

/// Requests that are being sent.
pub(crate) struct Load {
    failed: Arc<Mutex<Vec<Instant>>>,
    sending: JoinHandle<()>,
}

impl Load {
    /// Sends requests, each on a new connection.
    pub(crate) fn start(url: &str) -> Self {
        let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).timeout(LONGEST).build();
        let (client, url) = (client.expect("a client"), url.to_owned());
        let failed = Arc::new(Mutex::new(Vec::new()));
        let failures = Arc::clone(&failed);
        let sending = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(BETWEEN);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
            loop {
                ticks.tick().await;
                let (request, failures) = (client.get(&url).send(), Arc::clone(&failures));
                tokio::spawn(async move {
                    let sent = Instant::now();
                    if !request.await.is_ok_and(|answer| answer.status().is_success()) {
                        failures.lock().unwrap().push(sent);
                    }
                });
            }
        });
        Self { failed, sending }
    }

    /// How many requests have failed so far.
    pub(crate) fn failed(&self) -> usize {
        self.failed.lock().unwrap().len()
    }

    /// What the requests show that were sent since `start`.
    pub(crate) async fn end(self, start: Instant) -> Lost {
        let watched = start.elapsed();
        self.sending.abort();
        tokio::time::sleep(LONGEST).await;
        let failed = self.failed.lock().unwrap();
        Lost::of(failed.iter().map(|sent| sent.saturating_duration_since(start)).collect(), watched)
    }
}

/// The failed requests of a scene.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    count: usize,
    /// From the first to the last; `None` if they have not stopped failing.
    lasted: Option<Duration>,
}

impl Lost {
    fn of(mut failed: Vec<Duration>, watched: Duration) -> Self {
        failed.sort();
        let (first, last) = (failed.first().copied().unwrap_or_default(), failed.last().copied().unwrap_or_default());
        let still_fail = !failed.is_empty() && last + END > watched;
        Self { count: failed.len(), lasted: (!still_fail).then(|| last.saturating_sub(first)) }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.count, self.lasted) {
            (0, _) => write!(f, "0"),
            (count, Some(lasted)) => write!(f, "{count} ({:.1} s)", lasted.as_secs_f64()),
            (count, None) => write!(f, "{count}, not over"),
        }
    }
}

#[test]
fn lost_requests_are_counted_until_they_are_over() {
    let seconds = |list: &[u64]| list.iter().copied().map(Duration::from_secs).collect();
    let shown = |list: &[u64]| Lost::of(seconds(list), Duration::from_secs(25)).to_string();

    // given none, some in any order, and some at the very end
    assert_eq!(shown(&[]), "0");
    assert_eq!(shown(&[4, 1, 2]), "3 (3.0 s)");
    assert_eq!(shown(&[1, 12, 23]), "3, not over");
}
