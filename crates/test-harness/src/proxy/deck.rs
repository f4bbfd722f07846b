//! Faults in random order, of which each kind comes as often as its weight says: dealt from a shuffled deck, not drawn by
//! chance.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use super::fault::{Fault, What, When};

/// The deck that requests to one or more servers get their faults from.
pub struct Deck {
    share: f64,
    kinds: Vec<(usize, Fault)>,
    state: Mutex<State>,
}

struct State {
    random: fastrand::Rng,
    pile: Vec<Fault>,
}

impl Deck {
    /// A deck of every fault of the network; this share of the requests gets one.
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
        let state = State { random: fastrand::Rng::with_seed(seed), pile: Vec::new() };
        Self { share, kinds, state: Mutex::new(state) }
    }

    /// Takes a further fault in, so many times: a black hole is in it once, latency six times.
    #[must_use]
    pub fn with(mut self, weight: usize, fault: Fault) -> Self {
        self.kinds.push((weight, fault));
        self
    }

    /// The names of the faults in the deck.
    pub fn names(&self) -> BTreeSet<&'static str> {
        self.kinds.iter().map(|(_, fault)| fault.name()).collect()
    }

    /// What the next request gets.
    pub fn next(&self) -> Option<Fault> {
        let mut state = self.state();
        if state.random.f64() >= self.share {
            return None;
        }
        if state.pile.is_empty() {
            state.pile = self.kinds.iter().flat_map(|(weight, fault)| vec![fault.clone(); *weight]).collect();
            let State { random, pile } = &mut *state;
            random.shuffle(pile);
        }
        let mut fault = state.pile.pop()?;
        match &mut fault.what {
            What::Delay(delay) => *delay = Duration::from_millis(state.random.u64(50..1_500)),
            What::ServerError(choice) => *choice = state.random.usize(..),
            _ => {}
        }
        Some(fault)
    }

    /// Deals the faults of this name next, unless one is near already.
    pub fn deal_next(&self, name: &str) {
        let mut state = self.state();
        let near = state.pile.iter().rev().take(self.kinds.len());
        let is_near = near.into_iter().any(|fault| fault.name() == name);
        let fault = self.kinds.iter().find(|(_, fault)| fault.name() == name);
        if let Some((_, fault)) = fault.filter(|_| !is_near) {
            state.pile.push(fault.clone());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}
