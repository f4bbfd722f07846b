//! The faults, and which one the next request gets.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

/// What happens to a request.
#[derive(Clone)]
pub struct Fault {
    /// The kind of fault.
    pub what: What,
    /// Whether it happens before or after the server has handled the request; a delay always comes before.
    pub when: When,
}

/// Whether the server has done its work by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// The request never reaches the server.
    Before,
    /// The server has done what was asked, and its answer is lost.
    After,
}

/// What somebody does while a request is under way; its sender's address is given.
pub type Deed = Arc<dyn Fn(SocketAddr) + Send + Sync>;

/// The kinds of faults.
#[derive(Clone)]
pub enum What {
    /// The request arrives late.
    Delay(Duration),
    /// The connection is reset: mid-response, where the server has answered.
    Reset,
    /// The connection ends in the middle of the answer's body.
    Truncate,
    /// The server says that there are too many requests.
    Throttle,
    /// An error of the server, or of a gateway before it. The number chooses among them.
    ServerError(usize),
    /// Taken, and never answered.
    Silence,
    /// Something happens to the server, and then the request goes on.
    Act(&'static str, Deed),
    /// Something happens to who asks, and nobody hears the answer.
    End(&'static str, Deed),
}

impl Fault {
    /// A name for counting.
    pub fn name(&self) -> &'static str {
        match (&self.what, self.when) {
            (What::Delay(_), _) => "latency",
            (What::Reset, When::Before) => "reset before the request",
            (What::Reset, When::After) => "reset mid-response",
            (What::Truncate, _) => "truncated body",
            (What::Throttle, _) => "throttled",
            (What::ServerError(_), When::Before) => "5xx",
            (What::ServerError(_), When::After) => "5xx after the work",
            (What::Silence, When::Before) => "black hole",
            (What::Silence, When::After) => "black hole after the work",
            (What::Act(name, _) | What::End(name, _), _) => name,
        }
    }
}

/// Faults by chance: the n-th request gets what the seed says for it, whichever request that is.
pub struct Weather {
    dice: Mutex<fastrand::Rng>,
    share: f64,
    acts: Vec<(u32, Fault)>,
}

impl Weather {
    /// Spoils this share of the requests.
    pub fn foul(seed: u64, share: f64) -> Self {
        Self { dice: Mutex::new(fastrand::Rng::with_seed(seed)), share, acts: Vec::new() }
    }

    /// Takes a further fault in, with this weight: that of a black hole is 1, that of latency 6.
    #[must_use]
    pub fn with(mut self, weight: u32, fault: Fault) -> Self {
        self.acts.push((weight, fault));
        self
    }

    /// What the next request gets.
    pub fn next(&self) -> Option<Fault> {
        let mut dice = self.dice.lock().unwrap();
        if dice.f64() >= self.share {
            return None;
        }
        let delay = Duration::from_millis(dice.u64(50..1_500));
        let error = dice.usize(..);
        let kinds = [
            (6, What::Delay(delay), When::Before),
            (3, What::Reset, When::Before),
            (3, What::Reset, When::After),
            (3, What::Truncate, When::After),
            (3, What::Throttle, When::Before),
            (3, What::ServerError(error), When::Before),
            (2, What::ServerError(error), When::After),
            (1, What::Silence, When::Before),
            (1, What::Silence, When::After),
        ];
        let kinds = kinds.into_iter().map(|(weight, what, when)| (weight, Fault { what, when }));
        let kinds: Vec<(u32, Fault)> = kinds.chain(self.acts.iter().cloned()).collect();
        let mut pick = dice.u32(..kinds.iter().map(|(weight, _)| weight).sum::<u32>());
        kinds.into_iter().find_map(|(weight, fault)| {
            let hit = pick < weight;
            pick = pick.saturating_sub(weight);
            hit.then_some(fault)
        })
    }
}

/// The seed of this run: `SEED`, or a new one. It is printed, so that a run can be repeated.
pub fn seed(test: &str) -> u64 {
    let given = std::env::var("SEED").ok().map(|seed| seed.parse().expect("SEED is a number"));
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    println!("{test}: SEED={seed}");
    seed
}
