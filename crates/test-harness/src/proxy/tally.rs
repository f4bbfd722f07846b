//! What passed a proxy: requests, connections, and the faults that were injected.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::task::JoinHandle;

/// Counts, from the proxy's start on.
#[derive(Default)]
pub struct Tally {
    faults: Mutex<BTreeMap<&'static str, usize>>,
    arrivals: Mutex<Vec<Instant>>,
    answered: Mutex<BTreeMap<String, usize>>,
    given_up: AtomicUsize,
    panic: Mutex<Option<String>>,
    under_way: Gauge,
    handed_on: Gauge,
    clients: Mutex<BTreeSet<SocketAddr>>,
    most_connections: AtomicUsize,
}

/// A number that rises and falls, and its peak.
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

/// A request whose client waits until this is dropped.
pub struct UnderWay<'a> {
    tally: &'a Tally,
    is_answered: bool,
}

impl UnderWay<'_> {
    /// Counts the answer by the kind of the request.
    pub fn answered(&mut self, kind: String) {
        self.is_answered = true;
        *self.tally.answered.lock().unwrap().entry(kind).or_default() += 1;
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.tally.under_way.fall();
        if !self.is_answered {
            self.tally.given_up.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// A request that the server works on until this is dropped.
pub struct HandedOn(Arc<Tally>);

impl HandedOn {
    /// Waits for the task that works on it, and keeps how it has panicked, if it has: then there is no answer either.
    pub async fn until_done<T>(self, work: JoinHandle<Option<T>>, kind: String) -> Option<T> {
        work.await.unwrap_or_else(|error| {
            // Only the first panic: others may follow from it.
            self.0.panic.lock().unwrap().get_or_insert(format!("{kind}: {error}"));
            None
        })
    }
}

impl Drop for HandedOn {
    fn drop(&mut self) {
        self.0.handed_on.fall();
    }
}

impl Tally {
    /// Counts a connection that a client has opened.
    pub fn connected(&self, client: SocketAddr) {
        let mut clients = self.clients.lock().unwrap();
        clients.insert(client);
        self.most_connections.fetch_max(clients.len(), Ordering::SeqCst);
    }

    /// Counts a connection that was closed.
    pub fn disconnected(&self, client: SocketAddr) {
        self.clients.lock().unwrap().remove(&client);
    }

    /// The addresses of the clients whose connections are open now.
    pub fn clients(&self) -> BTreeSet<SocketAddr> {
        self.clients.lock().unwrap().clone()
    }

    /// Counts a request that has arrived; it is under way until the returned guard is dropped.
    pub fn arrived(&self) -> UnderWay<'_> {
        self.arrivals.lock().unwrap().push(Instant::now());
        self.under_way.rise();
        UnderWay { tally: self, is_answered: false }
    }

    /// Counts a request that is handed on to the server, which works on it until the returned guard is dropped.
    pub fn handed_on(self: &Arc<Self>) -> HandedOn {
        self.handed_on.rise();
        HandedOn(Arc::clone(self))
    }

    /// How many requests the server works on now, also such as nobody waits for any more.
    pub fn at_work(&self) -> usize {
        self.handed_on.now.load(Ordering::SeqCst)
    }

    /// How many requests of each kind were answered.
    pub fn answers(&self) -> BTreeMap<String, usize> {
        self.answered.lock().unwrap().clone()
    }

    /// How many requests their clients gave up.
    pub fn given_up(&self) -> usize {
        self.given_up.load(Ordering::SeqCst)
    }

    /// Panics with what was to happen to a request, if that has panicked: the request gets no answer, and a test that waits for
    /// what follows from it would wait in vain.
    pub fn must_not_have_panicked(&self) {
        let panic = self.panic.lock().unwrap().clone();
        if let Some(panic) = panic {
            panic!("what was to happen to a request: {panic}");
        }
    }

    /// Counts an injected fault by its name.
    pub fn injected(&self, fault: &'static str) {
        *self.faults.lock().unwrap().entry(fault).or_default() += 1;
    }

    /// How often each fault was injected.
    pub fn faults(&self) -> BTreeMap<&'static str, usize> {
        self.faults.lock().unwrap().clone()
    }

    /// How many requests have arrived.
    pub fn requests(&self) -> usize {
        self.arrivals.lock().unwrap().len()
    }

    /// The most requests that were under way at once.
    pub fn peak_under_way(&self) -> usize {
        self.under_way.peak()
    }

    /// The most connections that were open at once.
    pub fn peak_connections(&self) -> usize {
        self.most_connections.load(Ordering::SeqCst)
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

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} requests", self.requests())?;
        for (fault, count) in self.faults() {
            write!(f, ", {fault}: {count}")?;
        }
        Ok(())
    }
}
