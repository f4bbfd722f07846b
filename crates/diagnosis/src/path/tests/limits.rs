//! Limits, outlier detection and TLS versions, as Consul 1.22.6 answers the config entries. 1.8.7 knows none of them.

use observe::{MeshEntry, ServiceLimits};
use serde_json::{Map, json};

use super::*;

fn limits(case: &str) -> ServiceLimits {
    serde_json::from_value(answer(NEW, case)).unwrap()
}

#[track_caller]
fn assert_limits(verdict: PlaceVerdict, part: &str, change: impl FnOnce(&mut World)) -> PathLine {
    assert_line(NEW, Place::Limits, verdict, part, change)
}

#[test]
fn connections_that_the_destination_takes_are_named() {
    let part = "each proxy of api takes at most 2 connections (MaxInboundConnections)";
    let line =
        assert_limits(PlaceVerdict::Possible, part, |world| world.destination.limits = Ok(Some(limits("read limits"))));
    assert_eq!(line.commands, ["consul config read -kind service-defaults -name api"]);
    // An entry without a limit
    assert_limits(PlaceVerdict::Ok, "no limit is set", |world| {
        world.destination.limits = Ok(Some(limits("read limits of upstreams")));
    });
}

#[test]
fn limits_of_calls_are_merged_as_consul_does() {
    let set = |name: &'static str| {
        move |world: &mut World| {
            world.source.limits = Ok(Some(limits("read limits of upstreams")));
            world.destination.service.name = name.to_owned();
        }
    };
    let mut world = World::new(NEW);
    set("api")(&mut world);
    let lines = world.path().lines.into_iter().filter(|line| line.place == Place::Limits);
    let said: Vec<String> = lines.map(|line| line.what).collect();
    let merged = "each proxy of web limits its calls: MaxConnections 1";
    assert_eq!(said, [merged, "outlier detection of web may eject instances of api that fail"]);
    assert_limits(PlaceVerdict::Possible, "each proxy of web limits its calls: MaxConnections 1", set("orders"));
    assert_limits(PlaceVerdict::Ok, "no limit is set", |world| world.source.limits = Ok(Some(limits("read limits"))));
}

#[test]
fn tls_versions_that_no_connection_can_have_are_a_fault() {
    let with = |entry: Map<String, Value>| move |world: &mut World| world.mesh.entry = Ok(Some(MeshEntry::from(entry)));
    let recorded: Map<String, Value> = serde_json::from_value(answer(NEW, "read mesh")).unwrap();
    let part = "demands TLSv1_3 of incoming connections and allows outgoing ones at most TLSv1_2";
    assert_limits(PlaceVerdict::Fault, part, with(recorded));
    for tls in [
        json!({ "Incoming": { "TLSMinVersion": "TLSv1_2" }, "Outgoing": { "TLSMaxVersion": "TLSv1_2" } }),
        json!({ "Incoming": { "TLSMinVersion": "TLSv1_3" }, "Outgoing": { "TLSMaxVersion": "TLS_AUTO" } }),
        json!({ "Incoming": { "TLSMinVersion": "TLSv1_3" } }),
    ] {
        assert_limits(PlaceVerdict::Ok, "no limit is set", with([("TLS".to_owned(), tls)].into_iter().collect()));
    }
}
