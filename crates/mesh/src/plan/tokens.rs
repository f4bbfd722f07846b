//! The part of a sweep's plan for tokens of services: which are hidden and revoked, and what happens to orphans.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::{
    arn::{ClusterArn, TaskId},
    cluster_selection::ClusterSelection,
    holder::TokenHolder,
    idleness::{Idleness, TaskListing, judge},
    lifecycle::{HeldToken, OrphanStep, Requirement, Step, Usage, next_step, orphan_step},
    mark::{self, HolderMark},
    names::ServiceName,
    plan::{Action, Coverage, Holders, Observed, Planned},
    secret::StoredSecret,
    settings::{PlanSettings, TokenMode},
    task::{MeshTask, TaskPhase},
    time::{elapsed, later},
    token::{AccessorId, ListedToken},
};

/// The usage of a token, by a listing of every task.
fn usage(idleness: Idleness, settings: PlanSettings<'_>) -> Usage {
    match idleness {
        Idleness::Living(_) => required_by_a_listed_task(settings),
        Idleness::RecentlyStopped(_) => Usage::Recent,
        Idleness::Idle(idle) => Usage::Idle(idle),
    }
}

fn required_by_a_listed_task(settings: PlanSettings<'_>) -> Usage {
    Usage::Needed(Requirement { may_create: settings.mode != TokenMode::AuthMethod, is_by_event: false })
}

/// Whether a token was pre-provisioned, and is still within the time that it waits for a first task.
pub fn is_awaited(unused_since: Option<Timestamp>, settings: PlanSettings<'_>) -> bool {
    unused_since.is_some_and(|since| elapsed(since, settings.now) < settings.unused_for)
}

/// The actions for the services' tokens in Consul. Without a listing of every task, only holders in `required` are
/// considered, and nothing is deleted. Takes those out of `required` that get an orphan instead of a new token.
pub(super) fn plan_tokens(
    observed: &Observed,
    listing: Option<&TaskListing>,
    required: &mut Holders<'_>,
    settings: PlanSettings<'_>,
) -> Vec<Planned> {
    let mut planned = Vec::new();
    for (holder, tokens) in marked(observed, settings) {
        // A holder whose secret could not be read is skipped.
        let Some(secret) = observed.secrets.get(&holder) else { continue };
        let idleness = listing.map(|listing| judge(&holder, listing, settings));
        // A task that requires no token may read this one: in mode `auth-method`, or in a named version.
        let users = match &idleness {
            Some(Idleness::Living(task)) => vec![task.clone()],
            _ => Vec::new(),
        };
        let usage = match idleness {
            Some(idleness) => usage(idleness, settings),
            None if required.contains_key(&holder) => required_by_a_listed_task(settings),
            None => continue,
        };
        let is_required = required.contains_key(&holder);
        let named = plan_named(&holder, secret, &tokens, &usage, is_required, settings);
        let actions = named.into_iter().chain(plan_orphans(&holder, secret, &tokens, &usage, settings));
        for (action, cluster) in actions {
            let tasks = match &action {
                Action::ShowOrphan(..) => match required.remove(&holder) {
                    Some(tasks) => tasks.iter().map(|task| task.arn.clone()).collect(),
                    None => users.clone(),
                },
                _ if listing.is_none() => continue,
                Action::Provision(_) => users.clone(),
                _ => Vec::new(),
            };
            planned.push(Planned { action, cluster, tasks });
        }
    }
    planned
}

/// A token of a service.
struct MarkedToken<'a> {
    token: &'a ListedToken,
    mark: &'a HolderMark,
    /// The cluster that it was created for.
    cluster: ClusterArn,
}

/// The services' tokens of this deployment, by holder.
fn marked<'a>(observed: &'a Observed, settings: PlanSettings<'_>) -> BTreeMap<TokenHolder, Vec<MarkedToken<'a>>> {
    let mut marked: BTreeMap<TokenHolder, Vec<MarkedToken<'_>>> = BTreeMap::new();
    for token in &observed.tokens {
        let Some(mark) = token.mark() else { continue };
        let Some(cluster) = settings.clusters.cluster_named_by(&mark.cluster) else { continue };
        let holder = settings.names.holder_of(mark, &token.tenancy).filter(|holder| holder.service().is_some());
        if let Some(holder) = holder {
            marked.entry(holder).or_default().push(MarkedToken { token, mark, cluster });
        }
    }
    marked
}

/// A token that no task requires, and that is too young to be hidden or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingToken {
    pub holder: TokenHolder,
    /// The cluster that it was created for.
    pub cluster: ClusterArn,
    pub accessor: AccessorId,
    /// Whether it is hidden next; otherwise it is deleted.
    pub is_shown: bool,
    /// When a sweep may do so.
    pub until: Timestamp,
}

/// The tokens of idle services that wait for a time.
pub fn waiting_tokens(observed: &Observed, settings: PlanSettings<'_>) -> Vec<WaitingToken> {
    let Coverage::Clusters(Some(listing)) = &observed.coverage else { return Vec::new() };
    let mut waiting = Vec::new();
    for (holder, tokens) in marked(observed, settings) {
        let Some(secret) = observed.secrets.get(&holder) else { continue };
        let (Some(written_at), Some(idle_from)) = (secret.written_at, idle_from(&holder, listing, settings)) else {
            continue;
        };
        let (bounds, place) = (settings.bounds, settings.names.place_of(&holder));
        for MarkedToken { token, mark, cluster } in tokens {
            let is_named = secret.names(token.accessor);
            let is_shown = is_named && secret.state.shown().is_some();
            let from = match (is_shown, is_named) {
                (true, _) => {
                    let awaited = mark.unused_since.map(|since| later(since, settings.unused_for));
                    bounds.hidden_from(written_at).max(awaited.unwrap_or(written_at))
                }
                (false, true) => bounds.deleted_from(written_at),
                (false, false) => match token.created_at {
                    Some(at) if is_orphan(secret, token, mark, &place, settings) => {
                        bounds.deleted_from(written_at).max(later(at, bounds.settled_after()))
                    }
                    _ => continue,
                },
            };
            let until = from.max(idle_from);
            if until > settings.now {
                waiting.push(WaitingToken {
                    holder: holder.clone(),
                    cluster,
                    accessor: token.accessor,
                    is_shown,
                    until,
                });
            }
        }
    }
    waiting
}

/// From when on a holder without a living task is idle; `None` if it has one.
fn idle_from(holder: &TokenHolder, listing: &TaskListing, settings: PlanSettings<'_>) -> Option<Timestamp> {
    match judge(holder, listing, settings) {
        Idleness::Living(_) => None,
        Idleness::Idle(_) => Some(settings.now),
        Idleness::RecentlyStopped(task) => {
            let stopped = listing.tasks.iter().find(|it| it.arn == task).and_then(|it| it.stopped_at);
            Some(later(stopped.unwrap_or(settings.now), settings.grace.quiet()))
        }
    }
}

/// The action for the token in the secret.
fn plan_named(
    holder: &TokenHolder,
    secret: &StoredSecret,
    tokens: &[MarkedToken<'_>],
    usage: &Usage,
    is_required: bool,
    settings: PlanSettings<'_>,
) -> Option<(Action, ClusterArn)> {
    let named = tokens.iter().find(|it| secret.names(it.token.accessor));
    let held = named.map(|it| HeldToken {
        is_marked: true,
        is_awaited: is_awaited(it.mark.unused_since, settings),
        differs: None,
    });
    let action = match (next_step(secret, held.as_ref(), usage, settings.bounds, settings.now), usage) {
        (Step::Hide(..), Usage::Idle(idle)) => Action::Hide(holder.clone(), idle.clone()),
        (Step::Remove(..), Usage::Idle(idle)) => Action::Revoke(holder.clone(), idle.clone()),
        (Step::Show(_), _) if !is_required => Action::Provision(holder.clone()),
        _ => return None,
    };
    let cluster = named.map(|it| &it.cluster).or_else(|| tokens.iter().map(|it| &it.cluster).min())?;
    Some((action, cluster.clone()))
}

/// The actions for orphans. Of several that could be shown, the newest is.
fn plan_orphans(
    holder: &TokenHolder,
    secret: &StoredSecret,
    tokens: &[MarkedToken<'_>],
    usage: &Usage,
    settings: PlanSettings<'_>,
) -> Vec<(Action, ClusterArn)> {
    let place = settings.names.place_of(holder);
    let orphans = tokens.iter().filter(|it| is_orphan(secret, it.token, it.mark, &place, settings));
    let (mut actions, mut shown) = (Vec::new(), None::<&MarkedToken<'_>>);
    for orphan in orphans {
        let token = orphan.token;
        match orphan_step(token.created_at, secret, usage, settings.bounds, settings.now) {
            OrphanStep::Show if shown.is_none_or(|it| it.token.created_at < token.created_at) => shown = Some(orphan),
            OrphanStep::Keep | OrphanStep::Show => {}
            OrphanStep::Delete(retirement) => {
                let action = Action::DeleteOrphan(holder.clone(), token.clone(), retirement);
                actions.push((action, orphan.cluster.clone()));
            }
        }
    }
    actions.extend(shown.map(|it| (Action::ShowOrphan(holder.clone(), it.token.clone()), it.cluster.clone())));
    actions
}

/// Whether the token is certainly for this secret, which does not contain it.
fn is_orphan(
    secret: &StoredSecret,
    token: &ListedToken,
    mark: &HolderMark,
    place: &str,
    settings: PlanSettings<'_>,
) -> bool {
    // Another account may have a cluster of the same name.
    !secret.names(token.accessor) && mark.has_arn_of(settings.clusters) && mark.may_be_for(place)
}

/// Selects the tokens that the plan for events of `tasks` needs: those for which a stopped task logged in, and those
/// that a controller created for the service of one.
pub struct NeededTokens<'a> {
    stopped: BTreeMap<&'a TaskId, Vec<&'a ClusterArn>>,
    services: BTreeSet<&'a ServiceName>,
    clusters: &'a ClusterSelection,
}

impl<'a> NeededTokens<'a> {
    /// The tokens for events of `tasks`, in a deployment of `clusters`.
    pub fn of(tasks: &'a [MeshTask], clusters: &'a ClusterSelection) -> Self {
        let mut needed = Self { stopped: BTreeMap::new(), services: BTreeSet::new(), clusters };
        for task in tasks.iter().filter(|task| task.phase == TaskPhase::Stopped) {
            needed.stopped.entry(task.arn.id()).or_default().push(&task.cluster);
            needed.services.extend(task.identity.iter().map(|identity| &identity.service.name));
        }
        needed
    }

    /// The description of each of these tokens contains at least one of these texts.
    pub fn texts(&self) -> Vec<String> {
        let logins = self.stopped.keys().map(ToString::to_string);
        logins.chain(self.services.iter().copied().map(mark::title_of)).collect()
    }

    /// Whether the plan needs the token.
    pub fn contains(&self, token: &ListedToken) -> bool {
        if let Some(login) = token.login() {
            let clusters = self.stopped.get(&login.task);
            return clusters.is_some_and(|clusters| clusters.iter().any(|of| login.is_of(&login.task, of)));
        }
        token.mark().is_some_and(|mark| {
            mark.service.as_ref().is_some_and(|service| self.services.contains(service)) && mark.is_of(self.clusters)
        })
    }
}
