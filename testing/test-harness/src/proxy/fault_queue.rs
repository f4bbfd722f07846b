//! Faults in random order, each kind with a frequency by its weight: the queue is filled with all kinds, shuffled, and filled again
//! when it is empty.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use super::fault::{Fault, FaultKind, FaultPoint};

/// The source of faults for the requests to one or more servers.
pub struct FaultQueue {
    share: f64,
    kinds: Vec<(usize, Fault)>,
    state: Mutex<State>,
}

struct State {
    random: fastrand::Rng,
    queue: Vec<Fault>,
}

impl FaultQueue {
    /// A queue of all network faults, for this share of the requests.
    pub fn new(seed: u64, share: f64) -> Self {
        let network = [
            (6, FaultKind::Delay(Duration::ZERO), FaultPoint::Before),
            (3, FaultKind::Reset, FaultPoint::Before),
            (3, FaultKind::Reset, FaultPoint::After),
            (3, FaultKind::Truncate, FaultPoint::After),
            (3, FaultKind::Throttle, FaultPoint::Before),
            (3, FaultKind::ServerError(0), FaultPoint::Before),
            (2, FaultKind::ServerError(0), FaultPoint::After),
            (1, FaultKind::Silence, FaultPoint::Before),
            (1, FaultKind::Silence, FaultPoint::After),
        ];
        let kinds = network.into_iter().map(|(weight, kind, point)| (weight, Fault { kind, point })).collect();
        let state = State { random: fastrand::Rng::with_seed(seed), queue: Vec::new() };
        Self { share, kinds, state: Mutex::new(state) }
    }

    /// Adds a fault with a weight; a black hole has weight 1, latency has 6.
    #[must_use]
    pub fn with(mut self, weight: usize, fault: Fault) -> Self {
        self.kinds.push((weight, fault));
        self
    }

    /// The names of all faults.
    pub fn names(&self) -> BTreeSet<&'static str> {
        self.kinds.iter().map(|(_, fault)| fault.name()).collect()
    }

    /// The fault of the next request, if it gets one.
    pub fn next(&self) -> Option<Fault> {
        let mut state = self.state();
        if state.random.f64() >= self.share {
            return None;
        }
        if state.queue.is_empty() {
            state.queue = self.kinds.iter().flat_map(|(weight, fault)| vec![fault.clone(); *weight]).collect();
            let State { random, queue } = &mut *state;
            random.shuffle(queue);
        }
        let mut fault = state.queue.pop()?;
        match &mut fault.kind {
            FaultKind::Delay(delay) => *delay = Duration::from_millis(state.random.u64(50..1_500)),
            FaultKind::ServerError(choice) => *choice = state.random.usize(..),
            _ => {}
        }
        Some(fault)
    }

    /// Moves the fault with this name to the front, unless one is among the next faults.
    pub fn move_to_front(&self, name: &str) {
        let mut state = self.state();
        let mut next = state.queue.iter().rev().take(self.kinds.len());
        let is_among_them = next.any(|fault| fault.name() == name);
        let fault = self.kinds.iter().find(|(_, fault)| fault.name() == name);
        if let Some((_, fault)) = fault.filter(|_| !is_among_them) {
            state.queue.push(fault.clone());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}
