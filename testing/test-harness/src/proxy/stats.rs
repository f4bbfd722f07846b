//! Counts of a proxy's requests, connections and injected faults.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::task::JoinHandle;

/// The counts since the proxy's start.
#[derive(Default)]
pub struct Stats {
    faults: Mutex<BTreeMap<&'static str, usize>>,
    arrivals: Mutex<Vec<Instant>>,
    answered: Mutex<BTreeMap<String, usize>>,
    given_up: AtomicUsize,
    panic: Mutex<Option<String>>,
    under_way: Gauge,
    connections: Gauge,
}

/// A gauge with its peak.
#[derive(Default)]
struct Gauge {
    now: AtomicUsize,
    peak: AtomicUsize,
}

impl Gauge {
    fn rise(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak.fetch_max(now, Ordering::SeqCst);
    }

    fn fall(&self) {
        self.now.fetch_sub(1, Ordering::SeqCst);
    }

    fn peak(&self) -> usize {
        self.peak.load(Ordering::SeqCst)
    }
}

/// A request whose client is waiting, until this guard is dropped.
pub struct UnderWay<'a> {
    stats: &'a Stats,
    is_answered: bool,
}

impl UnderWay<'_> {
    /// Counts the answer by the kind of the request.
    pub fn answered(&mut self, kind: String) {
        self.is_answered = true;
        *self.stats.answered.lock().unwrap().entry(kind).or_default() += 1;
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.stats.under_way.fall();
        if !self.is_answered {
            self.stats.given_up.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Stats {
    /// Counts an opened connection.
    pub fn connected(&self) {
        self.connections.rise();
    }

    /// Counts a closed connection.
    pub fn disconnected(&self) {
        self.connections.fall();
    }

    /// Counts a request, which is under way until the returned guard is dropped.
    pub fn arrived(&self) -> UnderWay<'_> {
        self.arrivals.lock().unwrap().push(Instant::now());
        self.under_way.rise();
        UnderWay { stats: self, is_answered: false }
    }

    /// Waits for the task that handles a request. If it panics, the message is kept, and there is no answer.
    pub async fn wait_until_done<T>(self: Arc<Self>, work: JoinHandle<Option<T>>, kind: String) -> Option<T> {
        work.await.unwrap_or_else(|error| {
            // Only the first panic is kept: others may follow from it.
            self.panic.lock().unwrap().get_or_insert(format!("{kind}: {error}"));
            None
        })
    }

    /// The number of answered requests by kind.
    pub fn answers(&self) -> BTreeMap<String, usize> {
        self.answered.lock().unwrap().clone()
    }

    /// The number of requests whose clients disconnected before the answer.
    pub fn given_up(&self) -> usize {
        self.given_up.load(Ordering::SeqCst)
    }

    /// Panics if the handling of a request has panicked: that request gets no answer, so that a test would wait until its time
    /// limit.
    pub fn assert_no_panic(&self) {
        let panic = self.panic.lock().unwrap().clone();
        if let Some(panic) = panic {
            panic!("the handling of a request panicked: {panic}");
        }
    }

    /// Counts an injected fault by its name.
    pub fn injected(&self, fault: &'static str) {
        *self.faults.lock().unwrap().entry(fault).or_default() += 1;
    }

    /// The number of injected faults by name.
    pub fn faults(&self) -> BTreeMap<&'static str, usize> {
        self.faults.lock().unwrap().clone()
    }

    /// The number of requests.
    pub fn requests(&self) -> usize {
        self.arrivals.lock().unwrap().len()
    }

    /// The most requests that were under way at once.
    pub fn peak_under_way(&self) -> usize {
        self.under_way.peak()
    }

    /// The most connections that were open at once.
    pub fn peak_connections(&self) -> usize {
        self.connections.peak()
    }

    /// The most requests that arrived within any `span`.
    pub fn peak_within(&self, span: Duration) -> usize {
        let arrivals = self.arrivals.lock().unwrap();
        let mut first = 0;
        let mut peak = 0;
        for (last, at) in arrivals.iter().enumerate() {
            while at.duration_since(arrivals[first]) >= span {
                first += 1;
            }
            peak = peak.max(last + 1 - first);
        }
        peak
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} requests", self.requests())?;
        for (fault, count) in self.faults() {
            write!(f, ", {fault}: {count}")?;
        }
        Ok(())
    }
}
