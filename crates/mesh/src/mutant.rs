//! Mistakes on purpose, to prove that the simulation would find them. They exist only with the feature `mutants`, which
//! nothing that ships has: a build without debug assertions refuses it. Without it, [`is`] is a constant.

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// A cluster whose tasks cannot be read passes for one without tasks.
    UnreadIsEmpty,
    /// The guard lets everything pass.
    NoGuard,
    /// Of a task's changes, the last one in the batch counts instead of the newest.
    StaleVersion,
    /// The first part of a cluster's tasks is taken for all.
    PartialPage,
    /// A token is shown to tasks before Consul holds it.
    ShownBeforeCreated,
    /// A token is restored in Consul without proof that its secret still names it.
    RestoredWithoutProof,
    /// A token is deleted while tasks can still read it.
    NotHidden,
    /// A token is deleted as soon as it is hidden.
    DeletedTooEarly,
    /// A token is deleted before its secret is emptied.
    DeletedBeforeEmptied,
    /// What was seen when a token was hidden is believed when it is deleted.
    NoSecondListing,
    /// Events rely on a version of a secret for good.
    ReliesForEver,
    /// A token that has lost the race for its secret stays.
    LoserKept,
    /// A token that its secret does not name is judged while its creator is at work.
    OrphanJudgedTooYoung,
    /// Writes of a secret are like each other.
    NoNonce,
    /// A hidden token is shown again without a look at the version that was read.
    ShownWithoutSwap,
    /// A token made ahead keeps its mark when a task comes.
    UnusedForEver,
    /// A service is idle the moment that its last task stops.
    NoGrace,
    /// A message whose work failed is acknowledged.
    FailureAcknowledged,
    /// A task that is told to stop is cleared away at once.
    StoppingIsStopped,
    /// A mark that names a cluster without its account is certain.
    TrustsNames,
    /// An error repeats a secret.
    LeaksSecret,
}

/// All of them.
#[cfg(feature = "mutants")]
pub const MUTANTS: [Mutant; 21] = [
    Mutant::UnreadIsEmpty,
    Mutant::NoGuard,
    Mutant::StaleVersion,
    Mutant::PartialPage,
    Mutant::ShownBeforeCreated,
    Mutant::RestoredWithoutProof,
    Mutant::NotHidden,
    Mutant::DeletedTooEarly,
    Mutant::DeletedBeforeEmptied,
    Mutant::NoSecondListing,
    Mutant::ReliesForEver,
    Mutant::LoserKept,
    Mutant::OrphanJudgedTooYoung,
    Mutant::NoNonce,
    Mutant::ShownWithoutSwap,
    Mutant::UnusedForEver,
    Mutant::NoGrace,
    Mutant::FailureAcknowledged,
    Mutant::StoppingIsStopped,
    Mutant::TrustsNames,
    Mutant::LeaksSecret,
];

/// Whether this mistake is to be made.
#[cfg(not(feature = "mutants"))]
#[must_use]
pub const fn is(_: Mutant) -> bool {
    false
}

#[cfg(feature = "mutants")]
pub use self::active::{activate, is};

#[cfg(feature = "mutants")]
mod active {
    use std::cell::Cell;

    use super::Mutant;

    thread_local! {
        static ACTIVE: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    /// Makes this thread make a mistake from now on, or none.
    pub fn activate(mutant: Option<Mutant>) {
        ACTIVE.set(mutant);
    }

    /// Whether this mistake is to be made.
    #[must_use]
    pub fn is(mutant: Mutant) -> bool {
        ACTIVE.get() == Some(mutant)
    }
}
