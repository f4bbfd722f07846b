//! Examples of each decision, and properties of all decisions.

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
const BY_AUTH_METHOD_TASK: Usage = Usage::Needed(Requirement { may_create: false, is_by_event: false });

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
        Step::Refuse(_) => "refuse".to_owned(),
        Step::Show(pair) => format!("show {}", secrecy::ExposeSecret::expose_secret(&pair.secret)),
        Step::Hide(..) => "hide".to_owned(),
        Step::Remove(..) => "remove".to_owned(),
    }
}

#[test]
fn required_token_is_created_if_missing() {
    for secret in [missing(), written(SecretState::Empty, true, 5), written(SecretState::Empty, false, 5)] {
        assert_eq!(step(&secret, ABSENT.as_ref(), &BY_EVENT), "create");
        assert_eq!(step(&secret, ABSENT.as_ref(), &BY_AUTH_METHOD_TASK), "nothing");
        assert_eq!(step(&secret, ABSENT.as_ref(), &idle()), "nothing");
    }
}

#[test]
fn valid_token_is_not_changed() {
    assert_eq!(step(&active(60), HELD.as_ref(), &BY_EVENT), "nothing");
    let by_hand = written(SecretState::Active(pair("a")), false, 100_000);
    for usage in [BY_EVENT, BY_LISTING, idle()] {
        assert_eq!(step(&by_hand, FOREIGN.as_ref(), &usage), "nothing");
    }
}

#[test]
fn event_renews_an_old_version() {
    // The token may be hidden after 2,700 s, by a listing that lacks tasks of the last 300 s; clocks differ by 30 s
    assert_eq!(step(&active(2_700 - 361), HELD.as_ref(), &BY_EVENT), "nothing");
    assert_eq!(step(&active(2_700 - 360), HELD.as_ref(), &BY_EVENT), "show a");
    assert_eq!(
        step(&active(2_700 - 360), HELD.as_ref(), &BY_LISTING),
        "nothing",
        "the next listing shows the task as well"
    );
}

#[test]
fn token_missing_in_consul_is_restored() {
    for secret in [active(60), retiring(60)] {
        assert_eq!(step(&secret, ABSENT.as_ref(), &BY_EVENT), "restore");
        assert_eq!(step(&secret, ABSENT.as_ref(), &BY_AUTH_METHOD_TASK), "nothing");
    }
}

#[test]
fn token_that_another_creator_wrote_is_not_restored() {
    for state in [SecretState::Active(pair("a")), SecretState::Retiring(pair("a"), Retirement::default())] {
        let by_hand = written(state, false, 60);
        assert_eq!(step(&by_hand, ABSENT.as_ref(), &BY_EVENT), "refuse");
        assert_eq!(step(&by_hand, ABSENT.as_ref(), &BY_AUTH_METHOD_TASK), "nothing");
    }
}

#[test]
fn own_secret_half_in_consul_replaces_that_in_the_secret() {
    let differs = |is_marked| Some(HeldToken { is_marked, is_awaited: false, differs: Some(pair("b")) });
    assert_eq!(step(&active(60), differs(true).as_ref(), &BY_EVENT), "show b");
    assert_eq!(
        step(&active(60), differs(false).as_ref(), &BY_EVENT),
        "create",
        "another creator's token is not copied"
    );
}

#[test]
fn hidden_token_is_shown_again_for_a_task() {
    for usage in [BY_EVENT, BY_LISTING, BY_AUTH_METHOD_TASK] {
        assert_eq!(step(&retiring(1_000), HELD.as_ref(), &usage), "show a");
    }
}

#[test]
fn every_own_token_is_removed_at_the_end() {
    let ended = Usage::Ended(Retirement::default());
    for secret in [active(0), retiring(0)] {
        for held in [HELD, FOREIGN, ABSENT] {
            assert_eq!(step(&secret, held.as_ref(), &ended), "remove", "the secret is the controller's");
        }
    }
    let by_hand = written(SecretState::Active(pair("a")), false, 100_000);
    assert_eq!(step(&by_hand, HELD.as_ref(), &ended), "remove", "the description has the mark");
    assert_eq!(step(&by_hand, FOREIGN.as_ref(), &ended), "nothing");
    assert_eq!(step(&missing(), ABSENT.as_ref(), &ended), "nothing");
}

#[test]
fn idle_token_is_hidden_after_the_shown_time() {
    assert_eq!(step(&active(2_699), HELD.as_ref(), &idle()), "nothing");
    assert_eq!(step(&active(2_700), HELD.as_ref(), &idle()), "hide");
    assert_eq!(step(&active(2_700), ABSENT.as_ref(), &idle()), "hide", "also if Consul does not have the token");
    assert_eq!(step(&active(100_000), HELD.as_ref(), &Usage::Recent), "nothing");
}

#[test]
fn unused_token_is_not_hidden_while_it_waits() {
    let awaited = Some(HeldToken { is_marked: true, is_awaited: true, differs: None });
    assert_eq!(step(&active(100_000), awaited.as_ref(), &idle()), "nothing");
}

#[test]
fn token_of_consul_ecs_is_hidden_too() {
    let old = written(SecretState::Active(pair("a")), false, 100_000);
    assert_eq!(step(&old, HELD.as_ref(), &idle()), "hide");
    assert_eq!(step(&old, HELD.as_ref(), &BY_EVENT), "show a");
    assert_eq!(step(&old, ABSENT.as_ref(), &idle()), "nothing", "without a token there is no mark");
}

#[test]
fn hidden_token_is_removed_after_the_hidden_time() {
    // 10 s for reads, 300 s for listings, 30 s each for an attempt, a call and clocks
    assert_eq!(step(&retiring(399), ABSENT.as_ref(), &idle()), "nothing");
    assert_eq!(step(&retiring(400), ABSENT.as_ref(), &idle()), "remove");
    assert_eq!(step(&retiring(100_000), ABSENT.as_ref(), &Usage::Recent), "nothing");
}

#[test]
fn token_of_an_operator_stays() {
    let edited = written(SecretState::Retiring(pair("a"), Retirement::default()), false, 100_000);
    for held in [FOREIGN, ABSENT] {
        assert_eq!(step(&edited, held.as_ref(), &idle()), "nothing");
    }
    assert_eq!(step(&edited, FOREIGN.as_ref(), &BY_EVENT), "create", "an operator's token is not shown");
    assert_eq!(step(&edited, FOREIGN.as_ref(), &BY_AUTH_METHOD_TASK), "nothing");
    assert_eq!(step(&edited, HELD.as_ref(), &idle()), "remove", "the description has the mark");
}

#[test]
fn secret_without_a_time_is_not_hidden() {
    for secret in [active(0), retiring(0)] {
        let secret = StoredSecret { written_at: None, ..secret };
        assert_eq!(step(&secret, HELD.as_ref(), &idle()), "nothing");
    }
}

fn orphan(secret: &StoredSecret, seconds_ago: u64, usage: &Usage) -> OrphanStep {
    orphan_step(Some(ago(seconds_ago)), secret, usage, &BOUNDS, now())
}

#[test]
fn young_orphan_is_kept() {
    for secret in [missing(), active(5), written(SecretState::Empty, true, 5)] {
        for usage in [BY_LISTING, idle()] {
            assert_eq!(orphan(&secret, 99, &usage), OrphanStep::Keep);
        }
    }
}

#[test]
fn old_orphan_is_deleted_if_the_service_is_idle() {
    for created in [1_000, 100_000, 910] {
        assert_eq!(orphan(&active(1_000), created, &BY_LISTING), OrphanStep::Keep, "{created}");
        assert_eq!(orphan(&active(1_000), created, &idle()), deleted(), "{created}");
        assert_eq!(orphan(&active(1_000), created, &Usage::Recent), OrphanStep::Keep, "{created}");
    }
    assert_eq!(orphan(&active(399), 100_000, &idle()), OrphanStep::Keep, "tasks that read it may not be listed yet");
    assert_eq!(orphan(&active(400), 100_000, &idle()), deleted());
}

#[test]
fn orphan_is_shown_in_an_emptied_secret() {
    let emptied = |seconds_ago| written(SecretState::Empty, false, seconds_ago);
    assert_eq!(orphan(&emptied(100), 100_000, &BY_LISTING), OrphanStep::Show);
    assert_eq!(orphan(&emptied(99), 100_000, &BY_LISTING), OrphanStep::Keep, "a deletion may still run");
    // A deleted secret gets a new token: of two sweeps that read it as missing, one may find the service idle
    assert_eq!(orphan(&missing(), 100_000, &BY_LISTING), OrphanStep::Keep);
    assert_eq!(orphan(&missing(), 100_000, &idle()), deleted());
}

#[test]
fn orphan_of_a_removal_is_not_shown_again() {
    let empty = written(SecretState::Empty, true, 1_000);
    assert_eq!(orphan(&empty, 100_000, &BY_LISTING), OrphanStep::Keep);
    assert_eq!(orphan(&empty, 100_000, &idle()), deleted());
    assert_eq!(orphan_step(None, &empty, &idle(), &BOUNDS, now()), OrphanStep::Keep, "its age is unknown");
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
    /// A required token is never hidden or removed, and a token that is not required is never created.
    #[test]
    fn usage_determines_the_direction_of_a_step(secret in any_secret(), held in any_held(), usage in any_usage()) {
        let is_required = matches!(usage, Usage::Needed(_));
        let is_idle = matches!(usage, Usage::Idle(_));
        let is_ours = secret.is_ours || held.as_ref().is_some_and(|held| held.is_marked);
        match next_step(&secret, held.as_ref(), &usage, &BOUNDS, now()) {
            Step::Create | Step::Show(_) => prop_assert!(is_required),
            Step::Restore(_) => prop_assert!(is_required && secret.is_ours),
            Step::Refuse(_) => prop_assert!(is_required && !secret.is_ours && held.is_none()),
            Step::Hide(..) => prop_assert!(is_idle && is_ours && secret.state.shown().is_some()),
            Step::Remove(..) => {
                let is_hidden = matches!(secret.state, SecretState::Retiring(..));
                prop_assert!(is_ours && (is_idle && is_hidden || matches!(usage, Usage::Ended(_))));
            }
            Step::Nothing => {}
        }
    }

    /// No event uses a version by which the token can be hidden before listings contain the event's task.
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
