//! Each row of the decision as an example, and what holds whatever is seen.

use std::time::Duration;

use proptest::prelude::*;
use secrecy::SecretString;

use super::*;

const BOUNDS: Bounds = Bounds::DEFAULT;

fn now() -> Timestamp {
    Timestamp::from_second(1_000_000).unwrap()
}

fn ago(seconds: u64) -> Timestamp {
    now() - Duration::from_secs(seconds)
}

fn pair(secret: &str) -> TokenPair {
    TokenPair { accessor: "00000000-0000-4000-8000-000000000001".parse().unwrap(), secret: SecretString::from(secret) }
}

fn written(state: SecretState, is_ours: bool, seconds_ago: u64) -> StoredSecret {
    StoredSecret { state, is_ours, version: Some("v".to_owned()), written_at: Some(ago(seconds_ago)) }
}

fn active(seconds_ago: u64) -> StoredSecret {
    written(SecretState::Active(pair("a")), true, seconds_ago)
}

fn retiring(seconds_ago: u64) -> StoredSecret {
    written(SecretState::Retiring(pair("a"), Retirement::default()), true, seconds_ago)
}

fn missing() -> StoredSecret {
    StoredSecret { state: SecretState::Missing, is_ours: false, version: None, written_at: None }
}

const HELD: Option<HeldToken> = Some(HeldToken { is_marked: true, is_awaited: false, differs: None });
const FOREIGN: Option<HeldToken> = Some(HeldToken { is_marked: false, is_awaited: false, differs: None });
const ABSENT: Option<HeldToken> = None;

const BY_EVENT: Usage = Usage::Needed(Requirement { may_create: true, is_by_event: true });
const BY_LISTING: Usage = Usage::Needed(Requirement { may_create: true, is_by_event: false });
const OF_TASKS_THAT_LOG_IN: Usage = Usage::Needed(Requirement { may_create: false, is_by_event: false });

fn idle() -> Usage {
    Usage::Idle(Idle { retirement: Retirement::default(), listed_at: now() })
}

fn deleted() -> OrphanStep {
    OrphanStep::Delete(Retirement::default())
}

fn step(secret: &StoredSecret, held: Option<&HeldToken>, usage: &Usage) -> String {
    match next_step(secret, held, usage, &BOUNDS, now()) {
        Step::Nothing => "nothing".to_owned(),
        Step::Create => "create".to_owned(),
        Step::Restore(_) => "restore".to_owned(),
        Step::Show(pair) => format!("show {}", secrecy::ExposeSecret::expose_secret(&pair.secret)),
        Step::Hide(..) => "hide".to_owned(),
        Step::Remove(..) => "remove".to_owned(),
    }
}

#[test]
fn where_there_is_nothing_a_needed_token_is_created() {
    for secret in [missing(), written(SecretState::Empty, true, 5), written(SecretState::Empty, false, 5)] {
        assert_eq!(step(&secret, ABSENT.as_ref(), &BY_EVENT), "create");
        assert_eq!(step(&secret, ABSENT.as_ref(), &OF_TASKS_THAT_LOG_IN), "nothing");
        assert_eq!(step(&secret, ABSENT.as_ref(), &idle()), "nothing");
    }
}

#[test]
fn a_token_in_place_is_left_alone_whoever_made_it() {
    assert_eq!(step(&active(60), HELD.as_ref(), &BY_EVENT), "nothing");
    let by_hand = written(SecretState::Active(pair("a")), false, 100_000);
    for usage in [BY_EVENT, BY_LISTING, idle()] {
        assert_eq!(step(&by_hand, FOREIGN.as_ref(), &usage), "nothing");
    }
}

#[test]
fn an_event_that_relies_on_an_old_version_writes_it_anew() {
    // The token may be hidden from 2,700 s on, by a listing that does not show a task of the last 300 s: clocks differ by 30 s.
    assert_eq!(step(&active(2_700 - 361), HELD.as_ref(), &BY_EVENT), "nothing");
    assert_eq!(step(&active(2_700 - 360), HELD.as_ref(), &BY_EVENT), "show a");
    assert_eq!(
        step(&active(2_700 - 360), HELD.as_ref(), &BY_LISTING),
        "nothing",
        "the next listing shows the task as well"
    );
}

#[test]
fn a_token_that_consul_has_lost_is_restored_as_it_was() {
    for secret in [active(60), retiring(60)] {
        assert_eq!(step(&secret, ABSENT.as_ref(), &BY_EVENT), "restore");
        assert_eq!(step(&secret, ABSENT.as_ref(), &OF_TASKS_THAT_LOG_IN), "nothing");
    }
}

#[test]
fn of_two_secret_halves_ours_in_consul_counts() {
    let differs = |is_marked| Some(HeldToken { is_marked, is_awaited: false, differs: Some(pair("b")) });
    assert_eq!(step(&active(60), differs(true).as_ref(), &BY_EVENT), "show b");
    assert_eq!(step(&active(60), differs(false).as_ref(), &BY_EVENT), "create", "somebody else's is not copied");
}

#[test]
fn a_hidden_token_is_shown_again_when_a_task_lives() {
    for usage in [BY_EVENT, BY_LISTING, OF_TASKS_THAT_LOG_IN] {
        assert_eq!(step(&retiring(1_000), HELD.as_ref(), &usage), "show a");
    }
}

#[test]
fn at_the_end_every_token_of_ours_goes_at_once() {
    let ended = Usage::Ended(Retirement::default());
    for secret in [active(0), retiring(0)] {
        for held in [HELD, FOREIGN, ABSENT] {
            assert_eq!(step(&secret, held.as_ref(), &ended), "remove", "the secret says that it is");
        }
    }
    let by_hand = written(SecretState::Active(pair("a")), false, 100_000);
    assert_eq!(step(&by_hand, HELD.as_ref(), &ended), "remove", "its description says that it is");
    assert_eq!(step(&by_hand, FOREIGN.as_ref(), &ended), "nothing");
    assert_eq!(step(&missing(), ABSENT.as_ref(), &ended), "nothing");
}

#[test]
fn an_idle_token_is_hidden_once_its_version_is_old_enough() {
    assert_eq!(step(&active(2_699), HELD.as_ref(), &idle()), "nothing");
    assert_eq!(step(&active(2_700), HELD.as_ref(), &idle()), "hide");
    assert_eq!(step(&active(2_700), ABSENT.as_ref(), &idle()), "hide", "a dead token goes the same way");
    assert_eq!(step(&active(100_000), HELD.as_ref(), &Usage::Recent), "nothing");
}

#[test]
fn a_token_made_ahead_waits_for_its_first_task() {
    let awaited = Some(HeldToken { is_marked: true, is_awaited: true, differs: None });
    assert_eq!(step(&active(100_000), awaited.as_ref(), &idle()), "nothing");
}

#[test]
fn the_old_controllers_token_goes_like_our_own() {
    let old = written(SecretState::Active(pair("a")), false, 100_000);
    assert_eq!(step(&old, HELD.as_ref(), &idle()), "hide");
    assert_eq!(step(&old, HELD.as_ref(), &BY_EVENT), "show a");
    assert_eq!(step(&old, ABSENT.as_ref(), &idle()), "nothing", "without a token nothing says that it is ours");
}

#[test]
fn a_hidden_token_is_deleted_when_every_task_that_can_have_read_it_would_be_listed() {
    // 10 s for reads, 300 s for lists, 30 s each for an attempt, a call, and clocks
    assert_eq!(step(&retiring(399), ABSENT.as_ref(), &idle()), "nothing");
    assert_eq!(step(&retiring(400), ABSENT.as_ref(), &idle()), "remove");
    assert_eq!(step(&retiring(100_000), ABSENT.as_ref(), &Usage::Recent), "nothing");
}

#[test]
fn what_a_person_has_put_into_a_hidden_token_s_place_stays() {
    let edited = written(SecretState::Retiring(pair("a"), Retirement::default()), false, 100_000);
    for held in [FOREIGN, ABSENT] {
        assert_eq!(step(&edited, held.as_ref(), &idle()), "nothing");
    }
    assert_eq!(step(&edited, FOREIGN.as_ref(), &BY_EVENT), "create", "it is not shown as the controller's own");
    assert_eq!(step(&edited, FOREIGN.as_ref(), &OF_TASKS_THAT_LOG_IN), "nothing");
    assert_eq!(step(&edited, HELD.as_ref(), &idle()), "remove", "its description says that it is the controller's");
}

#[test]
fn without_a_time_nothing_is_old_enough() {
    for secret in [active(0), retiring(0)] {
        let secret = StoredSecret { written_at: None, ..secret };
        assert_eq!(step(&secret, HELD.as_ref(), &idle()), "nothing");
    }
}

fn orphan(secret: &StoredSecret, seconds_ago: u64, usage: &Usage) -> OrphanStep {
    orphan_step(Some(ago(seconds_ago)), secret, usage, &BOUNDS, now())
}

#[test]
fn a_token_whose_creator_may_be_at_work_is_kept() {
    for secret in [missing(), active(5), written(SecretState::Empty, true, 5)] {
        for usage in [BY_LISTING, idle()] {
            assert_eq!(orphan(&secret, 99, &usage), OrphanStep::Keep);
        }
    }
}

#[test]
fn one_that_living_tasks_may_hold_goes_when_the_service_is_idle() {
    for created in [1_000, 100_000, 910] {
        assert_eq!(orphan(&active(1_000), created, &BY_LISTING), OrphanStep::Keep, "{created}");
        assert_eq!(orphan(&active(1_000), created, &idle()), deleted(), "{created}");
        assert_eq!(orphan(&active(1_000), created, &Usage::Recent), OrphanStep::Keep, "{created}");
    }
    assert_eq!(orphan(&active(399), 100_000, &idle()), OrphanStep::Keep, "who has read it may not be listed yet");
    assert_eq!(orphan(&active(400), 100_000, &idle()), deleted());
}

#[test]
fn in_a_secret_that_somebody_has_emptied_a_needed_token_is_shown_again() {
    let emptied = |seconds_ago| written(SecretState::Empty, false, seconds_ago);
    assert_eq!(orphan(&emptied(100), 100_000, &BY_LISTING), OrphanStep::Show);
    assert_eq!(orphan(&emptied(99), 100_000, &BY_LISTING), OrphanStep::Keep, "its deletion may be under way");
    // One that was deleted gets a new one: two sweeps may see a missing secret, one of them an idle service
    assert_eq!(orphan(&missing(), 100_000, &BY_LISTING), OrphanStep::Keep);
    assert_eq!(orphan(&missing(), 100_000, &idle()), deleted());
}

#[test]
fn what_is_left_of_a_token_whose_secret_the_controller_has_emptied_is_never_shown_again() {
    let empty = written(SecretState::Empty, true, 1_000);
    assert_eq!(orphan(&empty, 100_000, &BY_LISTING), OrphanStep::Keep);
    assert_eq!(orphan(&empty, 100_000, &idle()), deleted());
    assert_eq!(orphan_step(None, &empty, &idle(), &BOUNDS, now()), OrphanStep::Keep, "nobody knows how old it is");
}

fn any_secret() -> impl Strategy<Value = StoredSecret> {
    let states = prop::sample::select(vec![
        SecretState::Missing,
        SecretState::Empty,
        SecretState::Active(pair("a")),
        SecretState::Retiring(pair("a"), Retirement::default()),
    ]);
    (states, any::<bool>(), 0u64..4_000).prop_map(|(state, is_ours, age)| written(state, is_ours, age))
}

fn any_held() -> impl Strategy<Value = Option<HeldToken>> {
    let held = (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(is_marked, is_awaited, differs)| HeldToken {
        is_marked,
        is_awaited,
        differs: differs.then(|| pair("b")),
    });
    prop::option::of(held)
}

fn any_usage() -> impl Strategy<Value = Usage> {
    let needed = (any::<bool>(), any::<bool>())
        .prop_map(|(may_create, is_by_event)| Usage::Needed(Requirement { may_create, is_by_event }));
    let idle = (0u64..200).prop_map(|age| Usage::Idle(Idle { retirement: Retirement::default(), listed_at: ago(age) }));
    prop_oneof![needed, Just(Usage::Recent), idle, Just(Usage::Ended(Retirement::default()))]
}

proptest! {
    /// What tasks need is never taken away, and what they do not need is never made.
    #[test]
    fn usage_says_which_way_a_step_goes(secret in any_secret(), held in any_held(), usage in any_usage()) {
        let is_needed = matches!(usage, Usage::Needed(_));
        let is_idle = matches!(usage, Usage::Idle(_));
        let is_ours = secret.is_ours || held.as_ref().is_some_and(|held| held.is_marked);
        match next_step(&secret, held.as_ref(), &usage, &BOUNDS, now()) {
            Step::Create | Step::Restore(_) | Step::Show(_) => prop_assert!(is_needed),
            Step::Hide(..) => prop_assert!(is_idle && is_ours && secret.state.shown().is_some()),
            Step::Remove(..) => {
                let is_hidden = matches!(secret.state, SecretState::Retiring(..));
                prop_assert!(is_ours && (is_idle && is_hidden || matches!(usage, Usage::Ended(_))));
            }
            Step::Nothing => {}
        }
    }

    /// No event relies on a version by which a token can be hidden before lists show the event's task.
    #[test]
    fn between_the_last_reliance_and_the_first_hiding_lists_catch_up(age in 0u64..4_000) {
        let is_cached = step(&active(age), HELD.as_ref(), &BY_EVENT) == "nothing";
        let listed_at = now() + BOUNDS.ecs_lag + BOUNDS.clocks * 2;
        let later = Usage::Idle(Idle { retirement: Retirement::default(), listed_at: listed_at - Duration::from_secs(1) });
        if is_cached {
            prop_assert_eq!(step(&active(age), HELD.as_ref(), &later), "nothing");
        }
    }
}
