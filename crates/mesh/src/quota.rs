//! What one service can make a sweep do. A task that has a token of its service can register instances with any task ID, and log in as
//! often as it likes. Each service has a quota of a sweep, and the rest waits for later sweeps.

use std::{collections::BTreeMap, fmt};

use crate::{catalog::ServiceInstance, consul_ecs::service_behind, plan::Action, tenancy::Tenancy, token::ListedToken};

/// The most unlisted tasks of one service that one sweep asks ECS about, and the most entries of one service that it changes.
pub const ENTRIES_OF_ONE: usize = 1_000;
/// The most unlisted clusters that the entries of one service make a sweep ask ECS about: as many as one call describes.
pub const CLUSTERS_OF_ONE: usize = 100;

/// The owner of an entry in Consul, by what Consul's ACLs have granted and not by what an author has written into the entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryOwner {
    kind: &'static str,
    name: String,
    tenancy: Tenancy,
}

impl EntryOwner {
    /// The service of an instance: registering it took write on the service.
    pub fn of_instance(instance: &ServiceInstance) -> Self {
        let name = service_behind(&instance.name).to_owned();
        Self { kind: "service", name, tenancy: instance.tenancy.clone() }
    }

    /// The service of a login token, or the role of a gateway's.
    pub fn of_token(token: &ListedToken) -> Self {
        let service = token.grants.services.first().map(|grant| ("service", grant.service.clone()));
        let role = || token.grants.roles.first().map(|role| ("role", role.clone()));
        let (kind, name) =
            service.or_else(role).unwrap_or_else(|| ("auth method", token.auth_method.clone().unwrap_or_default()));
        Self { kind, name, tenancy: token.tenancy.clone() }
    }

    /// The owner of the entry that an action changes, if authors decide how many such actions there are.
    pub fn of_action(action: &Action) -> Option<Self> {
        match action {
            Action::Deregister(instance) | Action::MarkCritical(instance, _) => Some(Self::of_instance(instance)),
            Action::DeleteLoginToken(token) => Some(Self::of_token(token)),
            _ => None,
        }
    }
}

impl fmt::Display for EntryOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

/// Takes at most `most` of the work of each owner, and first the work of owners with little. `start` chooses the first of several, so
/// that work that is made up does not keep the rest of its owner waiting for ever. Returns how much of each owner waits.
pub fn divide<T>(
    work: impl IntoIterator<Item = (EntryOwner, T)>,
    most: usize,
    start: impl Fn(usize) -> usize,
) -> (Vec<T>, BTreeMap<EntryOwner, usize>) {
    let mut by_owner: BTreeMap<EntryOwner, Vec<T>> = BTreeMap::new();
    for (owner, work) in work {
        by_owner.entry(owner).or_default().push(work);
    }
    let mut waiting = BTreeMap::new();
    let mut taken: Vec<Vec<T>> = Vec::new();
    for (owner, mut work) in by_owner {
        if let Some(more) = work.len().checked_sub(most).filter(|more| *more > 0) {
            let first = start(work.len()) % work.len();
            work.rotate_left(first);
            work.truncate(most);
            waiting.insert(owner, more);
        }
        taken.push(work);
    }
    taken.sort_by_key(Vec::len);
    (taken.into_iter().flatten().collect(), waiting)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> EntryOwner {
        EntryOwner { kind: "service", name: name.to_owned(), tenancy: Tenancy::Community }
    }

    #[test]
    fn one_owner_keeps_no_other_waiting() {
        let flood = (0..150_000).map(|number| (owner("flood"), number));
        let others = [(owner("web"), 1_000_000), (owner("web"), 1_000_001), (owner("api"), 2_000_000)];
        let (taken, waiting) = divide(flood.chain(others), 1_000, |_| 149_900);
        assert_eq!(taken[..3], [2_000_000, 1_000_000, 1_000_001], "those with little work first");
        assert_eq!((taken.len(), taken[3], taken[1_002]), (1_003, 149_900, 899));
        assert_eq!(waiting, BTreeMap::from([(owner("flood"), 149_000)]));
    }

    #[test]
    fn every_entry_of_a_flood_has_its_turn() {
        let taken = |start: usize| divide((0..2_500).map(|it| (owner("flood"), it)), 1_000, |_| start).0;
        let all: std::collections::BTreeSet<i32> = [0, 900, 1_800].into_iter().flat_map(taken).collect();
        assert_eq!(all.len(), 2_500);
    }

    #[test]
    fn a_quota_that_suffices_leaves_nothing() {
        let (taken, waiting) = divide((0..1_000).map(|it| (owner("web"), it)), 1_000, |_| 7);
        assert_eq!((taken, waiting.len()), ((0..1_000).collect(), 0));
    }
}
