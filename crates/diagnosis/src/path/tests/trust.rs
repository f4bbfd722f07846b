//! The roots of Consul's certificate authority.

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
fn what_only_the_proxy_knows_is_said_with_the_command_that_asks_it() {
    let path = World::new(NEW).path();
    let line = path.lines.last().unwrap();
    let command = format!(
        "aws ecs execute-command --cluster prod --task {} --container app --interactive --command 'curl -s http://127.0.0.1:19000/certs'",
        id(1)
    );
    assert_eq!((line.verdict, line.commands.as_slice()), (PlaceVerdict::Unknown, [command].as_slice()));
}
