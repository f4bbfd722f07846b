//! The part of a sweep's plan for tokens of services: which are hidden and revoked, and what happens to orphans.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::time::elapsed;
use crate::{
    action::Action,
    arn::TaskArn,
    idleness::{Idleness, TaskListing, judge},
    lifecycle::{HeldToken, OrphanStep, Requirement, Step, Usage, next_step, orphan_step},
    mark::HolderMark,
    observed::Observed,
    rules::Rules,
    secret::StoredSecret,
    token::{ListedToken, TokenHolder},
    token_mode::TokenMode,
};

/// The usage of a holder's token, by a listing of every task. A token in a secret of another name stays as it is while a
/// task reads it.
#[must_use]
pub fn usage(holder: &TokenHolder, listing: &TaskListing, rules: Rules<'_>) -> Usage {
    match judge(holder, listing, rules) {
        Idleness::Living(_) if holder.owns_its_secret() => required_by_a_listed_task(rules),
        Idleness::Living(_) | Idleness::RecentlyStopped(_) => Usage::Recent,
        Idleness::Idle(idle) => Usage::Idle(idle),
    }
}

fn required_by_a_listed_task(rules: Rules<'_>) -> Usage {
    Usage::Needed(Requirement { may_create: rules.mode != TokenMode::AuthMethod, is_by_event: false })
}

/// Whether a token was pre-provisioned, and is still within the time that it waits for a first task.
#[must_use]
pub fn is_awaited(unused_since: Option<Timestamp>, rules: Rules<'_>) -> bool {
    unused_since.is_some_and(|since| elapsed(since, rules.now) < rules.unused_for)
}

/// The actions for the services' tokens in Consul. Without a listing of every task, only holders in `required` are
/// considered, and nothing is deleted.
pub(crate) fn plan_tokens(
    observed: &Observed,
    listing: Option<&TaskListing>,
    required: &BTreeMap<TokenHolder, Vec<TaskArn>>,
    rules: Rules<'_>,
) -> Vec<Action> {
    let mut marked: BTreeMap<TokenHolder, Vec<(&ListedToken, HolderMark)>> = BTreeMap::new();
    for token in &observed.tokens {
        let Some(mark) = HolderMark::parse(&token.description).filter(|mark| mark.is_of(rules.clusters)) else {
            continue;
        };
        let holder = rules.names.holder_of(&mark, &token.tenancy).filter(|holder| holder.service().is_some());
        if let Some(holder) = holder {
            marked.entry(holder).or_default().push((token, mark));
        }
    }
    let mut actions = Vec::new();
    for (holder, tokens) in marked {
        // A holder whose secret could not be read is skipped.
        let Some(secret) = observed.secrets.get(&holder) else { continue };
        let usage = match listing {
            Some(listing) => usage(&holder, listing, rules),
            None if required.contains_key(&holder) => required_by_a_listed_task(rules),
            None => continue,
        };
        let is_required = required.contains_key(&holder);
        actions.extend(plan_named(&holder, secret, &tokens, &usage, is_required, rules));
        actions.extend(plan_orphans(&holder, secret, &tokens, &usage, rules));
    }
    actions.retain(|action| listing.is_some() || matches!(action, Action::ShowOrphan(..)));
    actions
}

/// The action for the token in the secret.
fn plan_named(
    holder: &TokenHolder,
    secret: &StoredSecret,
    tokens: &[(&ListedToken, HolderMark)],
    usage: &Usage,
    is_required: bool,
    rules: Rules<'_>,
) -> Option<Action> {
    let named = tokens.iter().find(|(token, _)| secret.names(token.accessor));
    let held = named.map(|(_, mark)| HeldToken {
        is_marked: true,
        is_awaited: is_awaited(mark.unused_since, rules),
        differs: None,
    });
    match (next_step(secret, held.as_ref(), usage, rules.bounds, rules.now), usage) {
        (Step::Hide(..), Usage::Idle(idle)) => Some(Action::Hide(holder.clone(), idle.clone())),
        (Step::Remove(..), Usage::Idle(idle)) => Some(Action::Revoke(holder.clone(), idle.clone())),
        (Step::Show(_), _) if !is_required => Some(Action::Provision(holder.clone())),
        _ => None,
    }
}

/// The actions for orphans. Of several that could be shown, the newest is.
fn plan_orphans(
    holder: &TokenHolder,
    secret: &StoredSecret,
    tokens: &[(&ListedToken, HolderMark)],
    usage: &Usage,
    rules: Rules<'_>,
) -> Vec<Action> {
    let place = rules.names.place_of(holder);
    let orphans = tokens.iter().filter(|(token, mark)| {
        // A cluster name alone may be that of another account.
        !secret.names(token.accessor) && mark.has_arn_of(rules.clusters) && mark.may_be_for(&place)
    });
    let (mut actions, mut shown) = (Vec::new(), None::<&ListedToken>);
    for (token, _) in orphans {
        match orphan_step(token.created_at, secret, usage, rules.bounds, rules.now) {
            OrphanStep::Show if shown.is_none_or(|known| known.created_at < token.created_at) => shown = Some(token),
            OrphanStep::Keep | OrphanStep::Show => {}
            OrphanStep::Delete(retirement) => {
                actions.push(Action::DeleteOrphan(holder.clone(), (*token).clone(), retirement));
            }
        }
    }
    actions.extend(shown.map(|token| Action::ShowOrphan(holder.clone(), token.clone())));
    actions
}
