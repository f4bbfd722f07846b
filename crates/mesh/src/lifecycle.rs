//! The token lifecycle: decides the next step for the token of one holder.
//!
//! A token is created in Consul before it is written into its secret, and removed from the secret before it is deleted
//! in Consul, so that no task reads a token that Consul does not have. A task can only have read a token before it was
//! hidden; a hidden token is kept until an ECS listing contains every such task, so that no token in use is deleted.
//! Each write of the secret is a compare-and-swap on the version that was read: of a concurrent restore and deletion,
//! the one that fails changes nothing in Consul.

use jiff::Timestamp;

use crate::time::elapsed;
use crate::{
    secret::{Retirement, SecretState, StoredSecret},
    time::Bounds,
    token::{AccessorId, TokenPair},
};

/// Whether a holder's token is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Usage {
    /// A task requires it, or will soon.
    Needed(Requirement),
    /// No task requires it, but one did within the grace period.
    Recent,
    /// No task has required it for the grace period.
    Idle(Idle),
    /// The stack is deleted, and every token with it.
    Ended(Retirement),
}

/// What a task that requires a token asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirement {
    /// Whether a missing token is created. Not in mode `auth-method`: existing tokens are kept for the tasks that still
    /// read them.
    pub may_create: bool,
    /// Whether the requirement comes from an event. ECS listings may not contain the task yet, so that a new version of
    /// the secret has to prevent others from hiding the token.
    pub is_by_event: bool,
}

/// An idle service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idle {
    /// Since when it is idle, and after which task.
    pub retirement: Retirement,
    /// When the listing started that contains no task of it.
    pub listed_at: Timestamp,
}

/// The token in Consul with the accessor ID in a secret.
#[derive(Debug, Clone)]
pub struct HeldToken {
    /// Whether its description has a mark of this controller for the holder.
    pub is_marked: bool,
    /// Whether it was pre-provisioned, and its service has had no task yet.
    pub is_awaited: bool,
    /// The token in Consul, if its secret half differs from that in the secret.
    pub differs: Option<TokenPair>,
}

#[derive(Debug, Clone)]
pub enum Step {
    Nothing,
    /// Create a token with a new accessor ID in Consul, then write it into the secret.
    Create,
    /// Write the secret again unchanged, which proves that it still contains this token, then create the token in
    /// Consul: running tasks may have read it.
    Restore(TokenPair),
    /// Create nothing: Consul does not have the token, and another creator wrote it into the secret.
    Refuse(AccessorId),
    /// Write into the secret that tasks read this token, which Consul has. If they do already, the new version prevents
    /// hiding until listings contain the task.
    Show(TokenPair),
    /// Write into the secret that this token is retiring, then request a later check.
    Hide(TokenPair, Retirement),
    /// Empty the secret, then delete this token in Consul.
    Remove(TokenPair, Retirement),
}

/// Decides the next step. `held` is `None` only if Consul certainly has no such token.
pub fn next_step(
    secret: &StoredSecret,
    held: Option<&HeldToken>,
    usage: &Usage,
    bounds: &Bounds,
    now: Timestamp,
) -> Step {
    use SecretState::{Active, Empty, Missing, Retiring};
    // Without a time, the version counts as just written.
    let written_at = secret.written_at.unwrap_or(Timestamp::MAX);
    let is_ours = secret.is_ours || held.is_some_and(|held| held.is_marked);
    match (&secret.state, usage, held) {
        (Missing | Empty, Usage::Needed(needed), _) if needed.may_create => Step::Create,
        (Active(pair) | Retiring(pair, _), Usage::Needed(needed), None) if needed.may_create && secret.is_ours => {
            Step::Restore(pair.clone())
        }
        // Its author could have Consul create any pair.
        (Active(pair) | Retiring(pair, _), Usage::Needed(needed), None) if needed.may_create => {
            Step::Refuse(pair.accessor)
        }
        (Active(_) | Retiring(..), Usage::Needed(needed), Some(HeldToken { differs: Some(other), is_marked, .. })) => {
            match (is_marked, needed.may_create) {
                (true, _) => Step::Show(other.clone()),
                // A token of another creator is not copied.
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
        // An operator has replaced the token in the secret.
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

/// What to do with an orphan: a token with a mark of the controller that its secret does not contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrphanStep {
    /// Nothing: running tasks may have read it, or its creator may write it into the secret yet.
    Keep,
    /// Write it into the secret, which an operator has emptied although tasks require a token.
    Show,
    Delete(Retirement),
}

/// Decides what to do with an orphan created at `created_at`. It was listed after `now`, and its secret was read after
/// `now`.
pub fn orphan_step(
    created_at: Option<Timestamp>,
    secret: &StoredSecret,
    usage: &Usage,
    bounds: &Bounds,
    now: Timestamp,
) -> OrphanStep {
    // Without a time, the version counts as just written.
    let is_settled = |at: Option<Timestamp>| at.is_some_and(|at| elapsed(at, now) >= bounds.settled_after());
    if !is_settled(created_at) {
        return OrphanStep::Keep;
    }
    let written_at = secret.written_at.unwrap_or(Timestamp::MAX);
    match (&secret.state, usage) {
        // A secret that the controller emptied belongs to a token that is to be deleted. A deletion that started before
        // an operator emptied the secret has ended after [`Bounds::settled_after`].
        (SecretState::Empty, Usage::Needed(_)) if !secret.is_ours && is_settled(secret.written_at) => OrphanStep::Show,
        (SecretState::Missing, Usage::Idle(idle)) => OrphanStep::Delete(idle.retirement.clone()),
        (_, Usage::Idle(idle)) if idle.listed_at >= bounds.deleted_from(written_at) => {
            OrphanStep::Delete(idle.retirement.clone())
        }
        _ => OrphanStep::Keep,
    }
}

#[cfg(test)]
mod tests;
