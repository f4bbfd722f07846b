//! Examples of removals that are made, that wait, and that are held back.

use std::{collections::BTreeSet, ops::Range};

use proptest::prelude::*;

use super::*;
use crate::examples::{cluster, instance, service, task_id};

mod age;
mod share;
mod world;

use world::{Prod, agent, instances, login_token, node, plan_of, retirement_of, service_token};

#[test]
fn listing_with_as_many_tasks_as_ecs_counts_is_complete() {
    let is_complete = |counted, listed| TaskCounts { counted, listed }.is_complete();
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
    let description = crate::mark::marked_unused(&token.description, "2026-01-01T00:00:00Z".parse().unwrap());
    let unused = Observed { tokens: vec![ListedToken { description, ..token }], ..Observed::default() };
    let elsewhere =
        Observed { tokens: vec![login_token("test", 1)], instances: instances("test", 1), ..Observed::default() };
    for observed in [unused, elsewhere, Observed::default()] {
        assert!(!has_entries(&observed), "{observed:?}");
    }
}

#[test]
fn deletion_concerns_the_cluster_of_the_object() {
    let of = |name: &str| {
        [
            Action::DeleteLoginToken(login_token(name, 1)),
            Action::Deregister(instance(name, 1)),
            Action::ForceLeave(agent(vec![instance(name, 1)])),
            Action::DeregisterNode(node(name)),
        ]
    };
    for action in of("prod") {
        assert!(concerns(&action, &cluster("prod")) && !concerns(&action, &cluster("test")), "{action:?}");
    }
    let shared = Action::ForceLeave(agent(vec![instance("prod", 1), instance("test", 2)]));
    let revocation = retirement_of("web");
    for action in [shared, revocation] {
        assert!(concerns(&action, &cluster("prod")) && concerns(&action, &cluster("test")), "{action:?}");
    }
}

proptest! {
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
        for divided in [prod.first_look(percent), prod.second_look(percent)] {
            let all = divided.allowed.len() + divided.waiting.len() + divided.held_back.len();
            prop_assert_eq!(all, prod.planned.len());
            prop_assert_eq!(divided.alarms.is_empty(), divided.held_back.is_empty());
        }
    }
}
