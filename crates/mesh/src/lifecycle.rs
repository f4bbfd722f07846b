//! What is done about one holder's token: the whole decision.
//!
//! A token is created in Consul before its secret shows it, and hidden in the secret before it is deleted in Consul: so no task
//! reads a token that Consul does not have. Whoever has read a token did so before it was hidden; it stays hidden until ECS
//! lists every such task: so nothing is deleted that a task holds. Each change of the secret is a compare-and-swap on the
//! version that was read: of a revival and a deletion that meet, the loser changes nothing in Consul.

use jiff::Timestamp;

use super::{
    bounds::Bounds,
    secret::{Retirement, SecretState, StoredSecret},
    token::TokenPair,
};
use crate::time::elapsed;

/// Whether a holder's token is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Usage {
    /// A task needs it, or will need it soon.
    Needed(Requirement),
    /// No task needs it, and one did within the grace period.
    Recent,
    /// No task has needed it for the grace period.
    Idle(Idle),
    /// The controller is removed, and every token with it.
    Ended(Retirement),
}

/// A need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirement {
    /// Whether a token is created where there is none. Not where tasks log in: then what there is is kept for those that still
    /// read it.
    pub may_create: bool,
    /// Whether an event told of it. Lists may not show the task yet, so that the secret has to keep others from hiding the
    /// token.
    pub is_by_event: bool,
}

/// An idle service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idle {
    /// Since when, and after which task.
    pub retirement: Retirement,
    /// When the listing of tasks began that shows none.
    pub listed_at: Timestamp,
}

/// The token that Consul holds under the accessor ID that a secret names.
#[derive(Debug, Clone)]
pub struct HeldToken {
    /// Whether its description marks it as ours.
    pub is_marked: bool,
    /// Whether it was made ahead of its service's first task, and still waits for that.
    pub is_awaited: bool,
    /// The token as Consul holds it, if its secret half is another than the secret's.
    pub differs: Option<TokenPair>,
}

/// The next step.
#[derive(Debug, Clone)]
pub enum Step {
    /// All is as it should be, or what has to be done is not due yet.
    Nothing,
    /// Create a token with a fresh accessor ID in Consul, then show it in the secret.
    Create,
    /// Write the secret once more as it is, which proves that it still is, then create this token, which it names, in Consul:
    /// living tasks may hold it.
    Restore(TokenPair),
    /// Write into the secret that tasks read this token, which Consul has. Where the secret shows it already, its version is
    /// then new: the token is not hidden until lists show the task.
    Show(TokenPair),
    /// Write into the secret that this token is retiring, then ask for a later look.
    Hide(TokenPair, Retirement),
    /// Write into the secret that it holds nothing, then delete this token in Consul.
    Remove(TokenPair, Retirement),
}

/// Decides the next step. `held` is `None` only where Consul is known to hold no such token.
#[must_use]
pub fn next_step(
    secret: &StoredSecret,
    held: Option<&HeldToken>,
    usage: &Usage,
    bounds: &Bounds,
    now: Timestamp,
) -> Step {
    use SecretState::{Active, Empty, Missing, Retiring};
    // Without a time, nothing is old enough.
    let written_at = secret.written_at.unwrap_or(Timestamp::MAX);
    let is_ours = secret.is_ours || held.is_some_and(|held| held.is_marked);
    match (&secret.state, usage, held) {
        (Missing | Empty, Usage::Needed(needed), _) if needed.may_create => Step::Create,
        (Active(pair) | Retiring(pair, _), Usage::Needed(needed), None) if needed.may_create => {
            Step::Restore(pair.clone())
        }
        (Active(_) | Retiring(..), Usage::Needed(needed), Some(HeldToken { differs: Some(other), is_marked, .. })) => {
            match (is_marked, needed.may_create) {
                (true, _) => Step::Show(other.clone()),
                // Somebody else's is left to them.
                (false, true) => Step::Create,
                (false, false) => Step::Nothing,
            }
        }
        (Active(pair), Usage::Needed(needed), Some(_))
            if needed.is_by_event && is_ours && now >= bounds.relied_on_until(written_at) =>
        {
            Step::Show(pair.clone())
        }
        (Retiring(pair, _), Usage::Needed(_), Some(_)) if is_ours => Step::Show(pair.clone()),
        // A person has put another token into its place.
        (Retiring(..), Usage::Needed(needed), Some(_)) if needed.may_create => Step::Create,
        (Active(pair), Usage::Idle(idle), _)
            if is_ours
                && idle.listed_at >= bounds.hidden_from(written_at)
                && held.is_none_or(|held| !held.is_awaited) =>
        {
            Step::Hide(pair.clone(), idle.retirement.clone())
        }
        (Retiring(pair, retirement), Usage::Idle(idle), _)
            if is_ours && idle.listed_at >= bounds.deleted_from(written_at) =>
        {
            Step::Remove(pair.clone(), retirement.clone())
        }
        (Active(pair) | Retiring(pair, _), Usage::Ended(retirement), _) if is_ours => {
            Step::Remove(pair.clone(), retirement.clone())
        }
        _ => Step::Nothing,
    }
}

/// What is done about an orphan: a token that is marked as ours, and that its secret does not name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrphanStep {
    /// Nothing: living tasks may hold it, or its creator is about to show it.
    Keep,
    /// Show it in the secret: a person has emptied that, and tasks need a token.
    Show,
    /// Delete it.
    Delete(Retirement),
}

/// Decides what is done about an orphan that Consul created at `created_at`. It was listed after `now`, and its secret was read
/// after `now`.
#[must_use]
pub fn orphan_step(
    created_at: Option<Timestamp>,
    secret: &StoredSecret,
    usage: &Usage,
    bounds: &Bounds,
    now: Timestamp,
) -> OrphanStep {
    // Without a time, nothing is old enough.
    let is_settled = |at: Option<Timestamp>| at.is_some_and(|at| elapsed(at, now) >= bounds.settled_after());
    if !is_settled(created_at) {
        return OrphanStep::Keep;
    }
    let written_at = secret.written_at.unwrap_or(Timestamp::MAX);
    match (&secret.state, usage) {
        // What the controller itself has emptied is to be deleted. A deletion that began before a person emptied the secret
        // has ended once that is settled.
        (SecretState::Empty, Usage::Needed(_)) if !secret.is_ours && is_settled(secret.written_at) => OrphanStep::Show,
        (state, Usage::Idle(idle))
            if matches!(state, SecretState::Missing) || idle.listed_at >= bounds.deleted_from(written_at) =>
        {
            OrphanStep::Delete(idle.retirement.clone())
        }
        _ => OrphanStep::Keep,
    }
}

#[cfg(test)]
mod tests;
