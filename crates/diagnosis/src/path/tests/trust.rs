//! The roots of Consul's certificate authority.

use observe::{UnreadableCertificate, Validity};

use super::*;

#[track_caller]
fn assert_root(verdict: PlaceVerdict, part: &str, roots: Vec<CaRoot>) {
    assert_line(NEW, Place::Trust, verdict, part, |world| world.mesh.roots = Ok(roots));
}

#[test]
fn root_out_of_its_time_is_a_fault_and_one_near_its_end_possible() {
    assert_root(PlaceVerdict::Fault, "only", vec![root("2016-01-01T00:00:00Z", "2026-11-23T11:59:59Z")]);
    assert_root(PlaceVerdict::Fault, "only", vec![root("2026-11-24T00:00:00Z", "2036-01-01T00:00:00Z")]);
    assert_root(
        PlaceVerdict::Possible,
        "expires at 2026-12-01",
        vec![root("2016-01-01T00:00:00Z", "2026-12-01T00:00:00Z")],
    );
    assert_root(PlaceVerdict::Ok, "is valid until 2027", vec![root("2016-01-01T00:00:00Z", "2027-12-01T00:00:00Z")]);
}

#[test]
fn only_the_active_root_counts() {
    let old = CaRoot { is_active: false, ..root("2016-01-01T00:00:00Z", "2020-01-01T00:00:00Z") };
    assert_root(
        PlaceVerdict::Ok,
        "is valid until 2036",
        vec![old.clone(), root("2026-01-01T00:00:00Z", "2036-01-01T00:00:00Z")],
    );
    assert_root(PlaceVerdict::Fault, "no active root", vec![old]);
}

#[test]
fn intermediate_out_of_its_time_is_a_fault_and_one_that_consul_should_have_renewed_possible() {
    let under = |intermediate| {
        let root = CaRoot { intermediate, ..root("2026-01-01T00:00:00Z", "2036-01-01T00:00:00Z") };
        let mut world = World::new(NEW);
        world.mesh.roots = Ok(vec![root]);
        let mut lines = world.path().lines.into_iter().filter(|line| line.place == Place::Trust).skip(1);
        lines.next().map(|line| (line.verdict, line.what)).unwrap()
    };
    let valid = |from: &str, until: &str| {
        Some(Ok(Validity { not_before: from.parse().unwrap(), not_after: until.parse().unwrap() }))
    };
    let named = "the intermediate certificate under the root Consul CA Primary Cert";
    let expired = format!("{named} is valid from 2025-11-01T00:00:00Z to 2026-11-01T00:00:00Z only");
    assert_eq!(under(valid("2025-11-01T00:00:00Z", "2026-11-01T00:00:00Z")), (PlaceVerdict::Fault, expired));
    let overdue = format!("{named} expires at 2026-12-01T00:00:00Z");
    assert_eq!(under(valid("2025-12-01T00:00:00Z", "2026-12-01T00:00:00Z")), (PlaceVerdict::Possible, overdue));
    // One that lives for days only is not overdue before Consul renews it
    let short = format!("{named} is valid until 2026-11-28T00:00:00Z");
    assert_eq!(under(valid("2026-11-19T00:00:00Z", "2026-11-28T00:00:00Z")), (PlaceVerdict::Ok, short));
    let (verdict, what) = under(Some(Err(UnreadableCertificate)));
    assert_eq!((verdict, what), (PlaceVerdict::Unknown, format!("{named} could not be read: {UnreadableCertificate}")));
    // Without one, the root signs itself
    assert!(under(None).1.starts_with("which roots"));
}

#[test]
fn login_token_that_ends_soon_is_possible() {
    let until = |end: Option<&str>| {
        let mut world = World::new(NEW);
        world.tokens.listed[0].expires_at = end.map(|end| end.parse().unwrap());
        let lines: Vec<PathLine> = world.path().lines.into_iter().filter(|line| line.place == Place::Trust).collect();
        (lines[1].verdict, lines[1].what.clone())
    };
    let what = format!("the login token of task {} expires at 2026-11-23T13:00:00Z", id(1));
    assert_eq!(until(Some("2026-11-23T13:00:00Z")), (PlaceVerdict::Possible, what));
    for end in [None, Some("2026-11-30T12:00:00Z")] {
        assert!(!until(end).1.contains("login token"), "{end:?}");
    }
}

#[test]
fn login_tokens_that_are_gone_are_possible_until_the_proxy_reconnects() {
    let of = |numbers: &[u8]| {
        let mut world = World::new(NEW);
        world.tokens = tokens(numbers.iter().map(|number| login_token(*number)).collect());
        let lines = world.path().lines;
        let source = lines.iter().find(|line| line.place == Place::SourceTasks).unwrap();
        assert_eq!(source.verdict, PlaceVerdict::Ok, "{source:?}");
        let possible = lines.iter().filter(|line| line.verdict == PlaceVerdict::Possible);
        possible.map(|line| (line.place, line.what.clone())).collect::<Vec<_>>()
    };
    let [(place, what)] = of(&[2, 2]).try_into().unwrap();
    assert!(place == Place::Trust && what.contains(id(1).as_str()), "{what}");
    assert!(what.contains("none of its login tokens: it works until its proxy reconnects"), "{what}");
    assert_eq!(of(&[1, 1, 2, 2]), []);
}

#[test]
fn what_only_the_proxy_knows_is_said_with_the_command_that_asks_it() {
    let path = World::new(NEW).path();
    let line = path.lines.last().unwrap();
    let ask = format!(
        "aws ecs execute-command --cluster prod --task {} --container app --interactive --command 'curl -s \
         http://127.0.0.1:19000/certs http://127.0.0.1:19000/clusters http://127.0.0.1:19000/config_dump' > proxy.txt",
        id(1)
    );
    let read = "ecs-mesh path web api --proxy-output proxy.txt".to_owned();
    assert_eq!((line.verdict, line.commands.as_slice()), (PlaceVerdict::Unknown, [ask, read].as_slice()));
}
