//! The share, where the listing of ECS may be incomplete. The tasks here have waited.

use super::*;

fn unknown(what: &str, unknown: usize, owned: usize, counts: TaskCounts) -> Alarm {
    Alarm::Unknown { what: what.to_owned(), unknown, owned, counts }
}

/// ECS counts a hundred tasks more than it lists.
const INCOMPLETE: TaskCounts = TaskCounts { counted: 100, listed: 0, young: 0 };

fn incomplete() -> Prod {
    Prod::counting(INCOMPLETE.counted, INCOMPLETE.listed)
}

/// ECS counts one task more than it lists, so a list never has as many.
const MISCOUNTED: TaskCounts = TaskCounts { counted: 1, listed: 0, young: 0 };

fn miscounted() -> Prod {
    Prod::counting(MISCOUNTED.counted, MISCOUNTED.listed)
}

/// The alarms if ECS does not know `unknown` of `owned` tasks of one service.
fn of_service(owned: u8, unknown: u8, percent: u8) -> Vec<Alarm> {
    incomplete().living("web", unknown..owned).unknown("web", 0..unknown).alarms(percent)
}

#[test]
fn of_fewer_than_ten_two_are_kept_if_ecs_counts_as_many_without_listing_them() {
    let counting = |counted, listed, unknown| {
        let prod = Prod::counting(counted, listed).living("web", unknown..9).unknown("web", 0..unknown);
        prod.alarms(30)
    };
    // ECS counts 9 tasks and lists 3: the other 6 may run
    let counts = TaskCounts { counted: 9, listed: 3, young: 0 };
    assert_eq!(counting(9, 3, 6), [unknown("tasks of service web", 6, 9, counts)]);
    // It counts fewer than are unknown, so some are gone; and one too many is no sign
    assert_eq!(counting(9, 4, 6), []);
    assert_eq!(counting(9, 8, 1), []);
    // The tasks that it counts besides have only just started
    let mut starting = Prod::counting(12, 9).living("web", 2..3).unknown("web", 0..2);
    starting.observed.counts.values_mut().for_each(|counts| counts.young = 3);
    assert_eq!(starting.alarms(30), []);
    // Nothing else of the cluster is kept
    let other = Prod::counting(9, 3).unknown("web", 0..2).unknown("api", 5..6);
    assert_eq!(other.second_look(30).allowed, other.planned[2..]);
    assert_eq!(of_service(9, 9, 100), [], "no limit");
    assert_eq!(of_service(10, 10, 50), [unknown("tasks of service web", 10, 10, INCOMPLETE)]);
}

#[test]
fn limit_is_allowed_and_one_more_is_not() {
    assert_eq!(of_service(20, 10, 50), []);
    assert_eq!(of_service(20, 11, 50), [unknown("tasks of service web", 11, 20, INCOMPLETE)]);
    assert_eq!(of_service(11, 6, 50).len(), 1, "the share is not rounded down");
    assert_eq!(of_service(10, 1, 0).len(), 1);
    assert_eq!(of_service(10, 10, 100), [], "no limit");
}

#[test]
fn complete_listing_needs_no_share() {
    let prod = Prod::counting(1, 1).living("web", 0..1).unknown("web", 1..100);
    assert_eq!(prod.second_look(0).allowed, prod.planned);
}

#[test]
fn made_up_instances_block_no_other_service() {
    // 2 of 8 tasks are unknown, and two hundred made-up ones
    let prod = miscounted().living("web", 0..6).unknown("web", 6..8).unknown("evil", 50..250);
    let divided = prod.second_look(30);
    assert_eq!(divided.allowed, prod.planned[..2]);
    assert_eq!(divided.alarms, [(cluster("prod"), unknown("tasks of service evil", 200, 200, MISCOUNTED))]);
}

#[test]
fn made_up_instances_do_not_enlarge_what_the_share_is_taken_of() {
    // 6 of 12 tasks of two services are unknown; with the made-up ones, only if those counted, it would be 6 of 212
    let half = miscounted().living("web", 0..3).unknown("web", 3..6).living("api", 6..9).unknown("api", 9..12);
    let expected = unknown("tasks", 6, 12, MISCOUNTED);
    assert_eq!(half.alarms(30), std::slice::from_ref(&expected));
    let flooded = half.unknown("evil", 50..250);
    assert_eq!(flooded.alarms(30), [unknown("tasks of service evil", 200, 200, MISCOUNTED), expected.clone()]);
    // Nor do they while they wait
    let divided = flooded.judged(30, Some(&flooded.observed.unknown.iter().take(6).cloned().collect()));
    assert_eq!((divided.alarms, divided.waiting.len()), (vec![(cluster("prod"), expected)], 200));
}

#[test]
fn dead_tasks_do_not_enlarge_it_either() {
    let prod = incomplete().living("web", 0..6).unknown("web", 6..12).stopped("web", 20..250);
    assert_eq!(prod.alarms(30), [unknown("tasks of service web", 6, 12, INCOMPLETE)]);
}

#[test]
fn service_and_its_proxy_count_as_one() {
    let prod = incomplete().living("web", 6..20).unknown("web", 0..6).unknown("web-sidecar-proxy", 0..6);
    let expected = unknown("tasks of service web", 6, 20, INCOMPLETE);
    assert_eq!(prod.alarms(29), [expected], "six tasks, not twelve instances");
    assert_eq!(prod.second_look(29).held_back, prod.planned);
    assert_eq!(prod.alarms(30), []);
}

#[test]
fn login_tokens_count_by_their_task() {
    let tokens = |count| incomplete().living("web", 100..110).gone_login("web", 0..count).gone_login("web", 0..count);
    assert_eq!(tokens(4).alarms(30), [], "4 of 14 tasks, with two tokens each");
    assert_eq!(tokens(5).alarms(30), [unknown("tasks of service web", 5, 15, INCOMPLETE)]);
    assert_eq!(tokens(5).second_look(30).held_back.len(), 10);
}

#[test]
fn made_up_logins_block_no_other_service() {
    // Given a service that logs in two hundred times with the IDs of made-up tasks, and registers none of them
    let prod = miscounted().living("web", 0..6).unknown("web", 6..8).gone_login("evil", 50..250);
    let divided = prod.second_look(30);
    // Then only its own tokens are held back
    assert_eq!(divided.allowed, prod.planned[..2]);
    assert_eq!(divided.alarms, [(cluster("prod"), unknown("tasks of service evil", 200, 200, MISCOUNTED))]);
}

#[test]
fn a_forced_second_look_removes_the_tasks_that_it_names_and_no_others() {
    let prod = incomplete().unknown("web", 0..24);
    let divided = prod.forced_second_look(30, 12);
    assert_eq!(divided.allowed, prod.planned[..12]);
    assert_eq!((divided.waiting.len(), divided.held_back.len()), (12, 0), "the others have not waited");
    // Old logins need not wait, and are held back
    let prod = incomplete().unknown("web", 0..12).gone_login("web", 50..80);
    let divided = prod.forced_second_look(30, 12);
    assert_eq!((divided.allowed, divided.held_back), (prod.planned[..12].to_vec(), prod.planned[12..].to_vec()));
}

#[test]
fn token_of_a_service_that_is_held_back_stays() {
    let prod = incomplete().unknown("web", 0..12).logged_in("web", 0..12, 90_000).unknown("api", 20..21);
    let divided = prod.second_look(30);
    assert_eq!(divided.held_back.len(), 24, "twelve instances and their tokens");
    assert_eq!(divided.allowed.len(), 1);
}

#[test]
fn service_that_is_held_back_keeps_the_token_in_its_secret() {
    // Given a service over its share, whose token would be hidden because none of its tasks is known
    let mut prod = incomplete().unknown("web", 0..12).living("api", 100..112);
    prod.planned.extend(plan_of([retirement_of("web"), retirement_of("old")]));
    let divided = prod.second_look(30);
    // Then its token stays with its instances, and that of another service does not
    assert_eq!(divided.held_back, prod.planned[..13]);
    assert_eq!(divided.allowed, prod.planned[13..]);
}

#[test]
fn share_is_that_of_one_cluster() {
    let mut prod = incomplete().unknown("web", 0..12);
    prod.observed.counts.insert(cluster("test"), TaskCounts { counted: 3, listed: 3, young: 0 });
    let prod = prod.unknown_in("test", "web", 30..60);
    let divided = prod.second_look(30);
    assert_eq!(divided.held_back, prod.planned[..12]);
    assert_eq!(divided.allowed, prod.planned[12..]);
}

#[test]
fn running_tasks_with_agents_count() {
    // Their nodes are not read
    let mut prod = incomplete().unknown("web", 0..12);
    prod.observed.tasks.extend((100..130).map(world::active_with_agent));
    assert_eq!(prod.alarms(30), [unknown("tasks of service web", 12, 12, INCOMPLETE)], "of another service");
    let leaves: Vec<TaskArn> = prod.observed.unknown.iter().cloned().collect();
    let action = Action::ForceLeave(agent(prod.observed.instances.clone()));
    let prod = Prod { planned: vec![Planned { action, cluster: cluster("prod"), tasks: leaves }], ..prod };
    assert_eq!(prod.second_look(30).held_back, prod.planned);
}

#[test]
fn services_that_lose_their_token_count_as_services() {
    let tokens = (0..10).map(|number| service_token("prod", number, &format!("web-{number}")));
    let again = service_token("prod", 20, "web-0");
    let mut prod = Prod::counting(3, 3);
    prod.observed.tokens = tokens.chain([again]).collect();
    let hidden = |count: u8| Prod {
        planned: plan_of((0..count).map(|number| retirement_of(&format!("web-{number}")))),
        observed: prod.observed.clone(),
    };
    assert_eq!(hidden(3).alarms(30), []);
    let expected = Alarm::TooMany { what: "services' tokens", deleted: 4, owned: 10, percent: 30 };
    assert_eq!(hidden(4).alarms(30), [expected], "although the listing is complete: another cluster may have tasks");
    assert_eq!(hidden(4).second_look(30).held_back.len(), 4);
}

#[test]
fn services_keep_their_tokens_while_a_cluster_is_over_its_share() {
    let mut prod = incomplete().gone_login("web", 0..12);
    prod.planned.extend(plan_of([retirement_of("web")]));
    assert_eq!(prod.second_look(30).held_back, prod.planned);
}
