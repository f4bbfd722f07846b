//! Examples of removals that are made, that wait, and that are held back.

use std::{collections::BTreeSet, ops::Range};

use proptest::prelude::*;

use super::*;
use crate::examples::{cluster, instance, service, task_id};

mod age;
mod share;
mod world;

use world::{Prod, agent, instances, login_token, plan_of, retirement_of, service_token};

#[test]
fn listing_with_as_many_tasks_as_ecs_counts_is_complete() {
    let is_complete = |counted, listed| TaskCounts { counted, listed, young: 0 }.is_complete();
    assert!(is_complete(3, 3) && is_complete(3, 4));
    assert!(!is_complete(3, 2));
    assert!(!is_complete(0, 0), "a cluster in another region looks the same");
}

#[test]
fn limit_is_a_percentage() {
    assert_eq!(MaxDeletePercent::new(101), None);
    assert_eq!(MaxDeletePercent::new(100), Some(MaxDeletePercent::NO_LIMIT));
}

#[test]
fn cluster_with_entries_of_tasks_is_not_empty() {
    let has_entries = |observed: &Observed| super::has_entries(observed, &cluster("prod"));
    let login = Observed { tokens: vec![login_token("prod", 1)], ..Observed::default() };
    let used = Observed { tokens: vec![service_token("prod", 1, "web")], ..Observed::default() };
    let instance = Observed { instances: instances("prod", 1), ..Observed::default() };
    let agents = Observed { agents: vec![agent(instances("prod", 1))], ..Observed::default() };
    for observed in [login, used, instance, agents] {
        assert!(has_entries(&observed), "{observed:?}");
    }
    let token = service_token("prod", 1, "web");
    let description = token.description.with_unused_since("2026-01-01T00:00:00Z".parse().unwrap());
    let unused = Observed { tokens: vec![ListedToken { description, ..token }], ..Observed::default() };
    let elsewhere =
        Observed { tokens: vec![login_token("test", 1)], instances: instances("test", 1), ..Observed::default() };
    for observed in [unused, elsewhere, Observed::default()] {
        assert!(!has_entries(&observed), "{observed:?}");
    }
}

/// A token in prod of a service whose tasks have used it, or not yet.
fn token_of_service(number: u8, is_used: bool) -> (ListedToken, Action) {
    let name = format!("service-{number}");
    let token = service_token("prod", number, &name);
    let unused = token.description.with_unused_since("2026-01-01T00:00:00Z".parse().unwrap());
    let description = if is_used { token.description.clone() } else { unused };
    (ListedToken { description, ..token }, retirement_of(&name))
}

proptest! {
    /// Tokens that no task has used count in no share: with them, the guard decides about the others as without them.
    #[test]
    fn tokens_that_were_never_used_hold_no_other_back(
        living in 0u8..30, idle in 0u8..30, unused in 0u8..60, percent in 0u8..=100,
    ) {
        let tokens = |numbers: Range<u8>, is_used| numbers.map(move |number| token_of_service(number, is_used));
        let judged = |unused: u8| {
            let mut prod = Prod::counting(1, 1);
            prod.observed.tokens.extend(tokens(0..living, true).map(|(token, _)| token));
            for (token, removal) in tokens(100..100 + idle, true).chain(tokens(150..150 + unused, false)) {
                prod.observed.tokens.push(token);
                prod.planned.extend(plan_of([removal]));
            }
            prod.first_sweep(percent)
        };
        let (alone, with_unused) = (judged(0), judged(unused));
        prop_assert_eq!(&alone.alarms, &with_unused.alarms);
        prop_assert!(alone.allowed.iter().all(|removal| with_unused.allowed.contains(removal)));
        if alone.alarms.is_empty() {
            prop_assert_eq!(with_unused.allowed.len(), usize::from(idle) + usize::from(unused));
        }
    }

    /// What ECS describes as STOPPED is never held back, whatever else is planned.
    #[test]
    fn stopped_tasks_are_always_removed(
        living in 0u8..20, stopped in 0u8..100, unknown in 0u8..40, counted in 0usize..40, percent in 0u8..=100,
    ) {
        let prod = Prod::counting(counted, usize::from(living))
            .living("web", 0..living)
            .stopped("web", 20..20 + stopped)
            .unknown("web", 120..120 + unknown);
        let allowed = prod.second_look(percent).allowed;
        prop_assert!(prod.planned.iter().take(usize::from(stopped)).all(|removal| allowed.contains(removal)));
    }

    /// Each planned action is done, waits, or is held back.
    #[test]
    fn every_action_has_one_answer(
        living in 0u8..20, unknown in 0u8..40, logged_in in 0u8..40, counted in 0usize..40, percent in 0u8..=100,
    ) {
        let prod = Prod::counting(counted, usize::from(living))
            .living("web", 0..living)
            .unknown("web", 120..120 + unknown)
            .logged_in("web", 120..120 + logged_in.min(unknown), 60);
        for divided in [prod.first_sweep(percent), prod.second_look(percent)] {
            let all = divided.allowed.len() + divided.waiting.len() + divided.held_back.len();
            prop_assert_eq!(all, prod.planned.len());
            prop_assert_eq!(divided.alarms.is_empty(), divided.held_back.is_empty());
        }
    }
}
