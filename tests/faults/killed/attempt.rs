//! One attempt to kill a function: at the first of its calls at which it was not killed before.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex},
};

use test_harness::proxy::{Fault, FaultKind, FaultPoint, Proxy, action};
use tokio::sync::watch;

/// The n-th call of a kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Point {
    kind: String,
    number: usize,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            1 => f.write_str(&self.kind),
            number => write!(f, "{} {number}", self.kind),
        }
    }
}

type Killer = Arc<dyn Fn() -> bool + Send + Sync>;

/// The state that all proxies of an attempt share.
pub(super) struct Attempt {
    progress: Arc<Mutex<Progress>>,
    when: FaultPoint,
    /// `None` until the process runs.
    victim: watch::Sender<Option<Killer>>,
}

struct Progress {
    spared: BTreeSet<Point>,
    counts: BTreeMap<String, usize>,
    reached: Option<Point>,
}

impl Progress {
    /// Whether the function is to be killed at this call.
    fn is_fatal(&mut self, kind: String) -> bool {
        let number = self.counts.entry(kind.clone()).or_default();
        *number += 1;
        let point = Point { kind, number: *number };
        let is_fatal = self.reached.is_none() && !self.spared.contains(&point);
        if is_fatal {
            self.reached = Some(point);
        }
        is_fatal
    }
}

impl Attempt {
    /// An attempt that does not kill at these calls.
    pub(super) fn sparing(spared: &BTreeSet<Point>, when: FaultPoint) -> Self {
        let progress = Progress { spared: spared.clone(), counts: BTreeMap::new(), reached: None };
        Self { progress: Arc::new(Mutex::new(progress)), when, victim: watch::Sender::new(None) }
    }

    /// Counts the calls through a proxy from now on.
    pub(super) fn watch(&self, proxy: &Proxy) {
        let (progress, when, victim) = (Arc::clone(&self.progress), self.when, self.victim.subscribe());
        proxy.script(move |call| {
            let victim = victim.clone();
            let kill = action(move |_| kill(victim.clone()));
            let is_fatal = progress.lock().unwrap().is_fatal(call.kind());
            is_fatal.then(|| Fault { kind: FaultKind::End("function killed", kill), point: when })
        });
    }

    /// Sets the process to kill.
    pub(super) fn set_victim(&self, killer: impl Fn() -> bool + Send + Sync + 'static) {
        self.victim.send_replace(Some(Arc::new(killer)));
    }

    /// The call at which the function was to be killed, if it made that call.
    pub(super) fn reached(&self) -> Option<Point> {
        self.progress.lock().unwrap().reached.clone()
    }
}

async fn kill(mut victim: watch::Receiver<Option<Killer>>) -> bool {
    let Ok(killer) = victim.wait_for(Option::is_some).await.map(|killer| killer.clone()) else { return false };
    killer.is_some_and(|kill| kill())
}
