//! Faults in random order. Each kind comes as often as its weight says: the queue is filled with all of them, shuffled, and
//! filled again when it is empty.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use super::fault::{Fault, What, When};

/// What requests to one or more servers get their faults from.
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
    /// Every fault of the network; this share of the requests gets one.
    pub fn new(seed: u64, share: f64) -> Self {
        let network = [
            (6, What::Delay(Duration::ZERO), When::Before),
            (3, What::Reset, When::Before),
            (3, What::Reset, When::After),
            (3, What::Truncate, When::After),
            (3, What::Throttle, When::Before),
            (3, What::ServerError(0), When::Before),
            (2, What::ServerError(0), When::After),
            (1, What::Silence, When::Before),
            (1, What::Silence, When::After),
        ];
        let kinds = network.into_iter().map(|(weight, what, when)| (weight, Fault { what, when })).collect();
        let state = State { random: fastrand::Rng::with_seed(seed), queue: Vec::new() };
        Self { share, kinds, state: Mutex::new(state) }
    }

    /// Adds a fault of this weight: that of a black hole is one, that of latency six.
    #[must_use]
    pub fn with(mut self, weight: usize, fault: Fault) -> Self {
        self.kinds.push((weight, fault));
        self
    }

    /// The names of all faults.
    pub fn names(&self) -> BTreeSet<&'static str> {
        self.kinds.iter().map(|(_, fault)| fault.name()).collect()
    }

    /// What the next request gets.
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
        match &mut fault.what {
            What::Delay(delay) => *delay = Duration::from_millis(state.random.u64(50..1_500)),
            What::ServerError(choice) => *choice = state.random.usize(..),
            _ => {}
        }
        Some(fault)
    }

    /// Puts the fault of this name first, unless one is among the next anyway.
    pub fn put_first(&self, name: &str) {
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
