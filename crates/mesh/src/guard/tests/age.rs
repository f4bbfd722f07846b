//! A young task is not a gone task.

use super::*;

/// What the removals of the only task of `prod` that ECS does not know wait for.
fn waits(prod: &Prod) -> Vec<Wait> {
    let divided = prod.first_sweep(30);
    assert_eq!(divided.held_back, Vec::new());
    divided.waiting.into_iter().map(|(_, wait)| wait).collect()
}

/// `prod` with a living task and one that ECS does not know, which logged in this many seconds ago.
fn logged_in(seconds_ago: i64) -> Prod {
    Prod::counting(1, 1).living("web", 1..2).unknown("web", 2..3).logged_in("web", 2..3, seconds_ago)
}

#[test]
fn young_task_waits_until_ecs_would_describe_it() {
    assert_eq!(waits(&logged_in(330)), [Wait::Age, Wait::Age], "its instance and its token");
    assert_eq!(waits(&logged_in(331)), []);
}

#[test]
fn oldest_login_says_how_old_a_task_is() {
    let again = logged_in(400).logged_in("web", 2..3, 10);
    assert_eq!(waits(&again), [Wait::Age], "only the young token");
}

#[test]
fn login_of_another_service_says_nothing_of_an_instance() {
    let impostor = Prod::counting(1, 1).living("web", 1..2).unknown("web", 2..3).logged_in("evil", 2..3, 400);
    assert_eq!(waits(&impostor), [Wait::SecondLook], "it names the task, and its grants do not cover the instance");
}

#[test]
fn token_without_an_auth_method_says_nothing_of_an_instance() {
    let mut made_by_hand = logged_in(400);
    made_by_hand.observed.tokens[0].auth_method = None;
    assert_eq!(waits(&made_by_hand), [Wait::SecondLook]);
}

#[test]
fn task_without_a_login_waits_for_a_second_look() {
    let prod = Prod::counting(1, 1).living("web", 1..2).unknown("web", 2..3);
    assert_eq!(waits(&prod), [Wait::SecondLook]);
    assert_eq!(prod.second_look(30).allowed, prod.planned);
}

#[test]
fn token_without_a_time_waits_for_a_second_look() {
    let mut prod = logged_in(400);
    prod.observed.tokens[0].created_at = None;
    prod.planned[1].action = Action::DeleteLoginToken(prod.observed.tokens[0].clone());
    assert_eq!(waits(&prod), [Wait::SecondLook, Wait::SecondLook]);
    assert_eq!(prod.second_look(30).waiting, []);
}

#[test]
fn second_look_does_not_make_a_young_token_older() {
    assert_eq!(logged_in(10).second_look(30).waiting.len(), 2, "somebody has just logged in as the task");
}

#[test]
fn where_ecs_counts_no_task_only_a_second_look_decides() {
    let empty = Prod::counting(0, 0).unknown("web", 2..32).logged_in("web", 2..32, 90_000);
    assert_eq!(waits(&empty), [Wait::SecondLook; 60]);
    // Then without the share
    assert_eq!(empty.second_look(0).allowed, empty.planned);
}

#[test]
fn stopped_task_does_not_wait() {
    let prod = Prod::counting(0, 0).stopped("web", 2..3).logged_in("web", 2..3, 1);
    assert_eq!(waits(&prod), []);
}

#[test]
fn node_of_an_agent_waits_for_its_youngest_task() {
    let prod = logged_in(400).unknown("api", 4..5);
    let mut leave = plan_of([Action::ForceLeave(agent(prod.observed.instances.clone()))]);
    leave[0].tasks = prod.observed.unknown.iter().cloned().collect();
    let prod = Prod { planned: leave, ..prod };
    assert_eq!(waits(&prod), [Wait::SecondLook]);
    assert_eq!(prod.second_look(30).allowed, prod.planned);
}
