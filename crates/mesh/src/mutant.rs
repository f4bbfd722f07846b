//! Mistakes on purpose, to prove that the simulation would find them. They exist only with the feature `mutants`, which
//! nothing that ships has: a build without debug assertions refuses it. Without it, [`is`] is a constant.

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// A revocation is not verified after the deletion.
    NoVerify,
    /// What was deleted is not put back.
    NoPutBack,
    /// A cluster whose tasks cannot be read passes for one without tasks.
    UnreadIsEmpty,
    /// A token's accessor ID is random instead of derived.
    RandomAccessor,
    /// The guard lets everything pass.
    NoGuard,
    /// `ACL not found` is taken at its word: the token is gone.
    TrustsNotFound,
    /// Of a task's changes, the last one in the batch counts instead of the newest.
    StaleVersion,
    /// The first part of a cluster's tasks is taken for all.
    PartialPage,
    /// The token is created before the secret is written.
    SecretAfterConsul,
    /// A pair is shown to tasks before Consul holds it.
    ShownUnmade,
    /// A pair that was found in the secret is created without claiming it.
    NotDecidedAnew,
    /// A token is deleted while tasks can still read it.
    NotReserved,
    /// A token made ahead keeps its mark when a task comes.
    UnusedForEver,
    /// A service is idle the moment that its last task stops.
    NoGrace,
    /// An environment trusts a token for good.
    TrustsForEver,
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
pub const MUTANTS: [Mutant; 19] = [
    Mutant::NoVerify,
    Mutant::NoPutBack,
    Mutant::UnreadIsEmpty,
    Mutant::RandomAccessor,
    Mutant::NoGuard,
    Mutant::TrustsNotFound,
    Mutant::StaleVersion,
    Mutant::PartialPage,
    Mutant::SecretAfterConsul,
    Mutant::ShownUnmade,
    Mutant::NotDecidedAnew,
    Mutant::NotReserved,
    Mutant::UnusedForEver,
    Mutant::NoGrace,
    Mutant::TrustsForEver,
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
