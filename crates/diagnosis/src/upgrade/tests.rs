//! Examples of upgrades.

use audit::versions::newest_for;
use observe::{ConsulError, MeshEntry, TokenOwner};
use serde_json::json;

use super::*;
use crate::inventory::{ImageTags, MeshGeneration};

fn row(name: &str, generation: MeshGeneration, consul_ecs: &str, dataplane: Option<&str>) -> InventoryRow {
    InventoryRow {
        cluster: Some("arn:aws:ecs:us-east-1:123456789012:cluster/prod".to_owned()),
        ecs_service: Some(name.to_owned()),
        service: Some(name.to_owned()),
        revision: format!("{name}:1"),
        generation,
        images: ImageTags {
            consul_ecs: Some(consul_ecs.to_owned()),
            consul_dataplane: dataplane.map(str::to_owned),
            ..ImageTags::default()
        },
        tasks: Some(1),
        ..InventoryRow::default()
    }
}

fn dataplane(name: &str, consul_ecs: &str, dataplane: &str) -> InventoryRow {
    row(name, MeshGeneration::Dataplane, consul_ecs, Some(dataplane))
}

fn line(text: &str) -> Release {
    text.parse().unwrap()
}

fn report(rows: &[InventoryRow], from: &str, target: &str) -> UpgradeReport {
    upgrade(rows, Some(line(from)), line(target), None).unwrap()
}

/// The revisions, each with its first reason.
fn named(found: &[Blocker]) -> Vec<(&str, &str)> {
    found.iter().map(|blocker| (blocker.row.revision.as_str(), blocker.reasons[0].as_str())).collect()
}

#[test]
fn revisions_block_whose_releases_do_not_go_with_the_target() {
    let rows = [dataplane("web", "0.9.0", "1.6.2"), dataplane("api", "0.10.1", "1.9.0")];
    let report = report(&rows, "1.22", "2.0");
    assert_eq!(named(&report.blockers), [("web:1", "consul-ecs 0.9.0 supports only Consul 1.20, 1.21, 1.22")]);
    assert_eq!((report.revisions, report.unknown.as_slice()), (2, &[][..]));
    let report = upgrade(&rows, None, line("2.0"), None).unwrap();
    assert_eq!((report.blockers.len(), report.from), (1, None), "whatever the servers have");
}

#[test]
fn proxy_older_than_the_oldest_that_the_servers_support_blocks() {
    let blocked = |target: &str| report(&[dataplane("web", "0.9.4", "1.5.0")], "1.19", target).blockers;
    let envoy = "consul-dataplane 1.5.0 contains Envoy 1.29, but Consul 1.20 needs Envoy 1.30 or newer";
    assert_eq!(named(&blocked("1.20")), [("web:1", envoy)]);
    let dataplane = "consul-dataplane 1.5.0 supports only Consul 1.19";
    assert_eq!(named(&blocked("1.21")), [("web:1", dataplane)], "1.20 refuses its Envoy");
}

#[test]
fn a_withdrawn_data_plane_is_not_ready() {
    let rows =
        [dataplane("web", "0.10.1", "1.9.4"), dataplane("api", "0.10.1", "1.8.9"), dataplane("pay", "0.10.1", "1.9.5")];
    let report = report(&rows, "1.22", "2.0");
    let why = |release: &str, fixed: &str| {
        format!(
            "consul-dataplane {release}: HashiCorp has withdrawn it because of critical issues; use consul-dataplane {fixed} or newer"
        )
    };
    let (web, api) = (why("1.9.4", "1.9.5"), why("1.8.9", "1.8.10"));
    assert_eq!(named(&report.blockers), [("web:1", web.as_str()), ("api:1", api.as_str())]);
    assert_eq!((report.revisions, report.unknown.len(), report.ahead.len()), (3, 0, 0));
}

#[test]
fn a_revision_that_is_ready_and_ahead_of_the_servers_is_named() {
    let rows = [dataplane("basket", "0.10.1", "2.0.1"), dataplane("stock", "0.10.1", "1.8.10")];
    let ahead = "ready for 2.0, outside of the pairs of 1.21: consul-dataplane 2.0.1 supports only Consul 2.0, 2.1";
    let report = report(&rows, "1.21", "2.0");
    assert_eq!(named(&report.ahead), [("basket:1", ahead)]);
    assert_eq!((report.blockers.len(), report.unknown.len()), (0, 0), "it blocks nothing");
    let servers_unknown = upgrade(&rows, None, line("2.0"), None).unwrap();
    assert_eq!(servers_unknown.ahead, []);
}

#[test]
fn client_agent_of_another_line_blocks() {
    let agent = |consul: &str| {
        let row = row("bill", MeshGeneration::ClientAgent, "0.5.2", None);
        InventoryRow { images: ImageTags { consul: Some(consul.to_owned()), ..row.images.clone() }, ..row }
    };
    let report = report(&[agent("1.13.2"), agent("1.14.1"), agent("latest")], "1.13", "1.14");
    assert_eq!(named(&report.blockers), [("bill:1", "its client agent runs Consul 1.13")]);
}

#[test]
fn controllers_count_and_other_tasks_outside_of_the_mesh_do_not() {
    let controller = row("controller", MeshGeneration::None, "0.8.1", None);
    let outside = |generation| InventoryRow { images: ImageTags::default(), ..row("pay", generation, "", None) };
    let rows = [controller, outside(MeshGeneration::AppMesh), outside(MeshGeneration::None)];
    let report = report(&rows, "1.22", "2.0");
    assert_eq!((report.revisions, report.unknown.len()), (1, 0));
    assert_eq!(named(&report.blockers), [("controller:1", "consul-ecs 0.8.1 supports only Consul 1.18, 1.19")]);
}

#[test]
fn release_that_is_not_known_may_block() {
    for (tag, reason) in [
        ("latest", "the tag latest of consul-ecs names no release"),
        ("untagged", "the image of consul-ecs has no tag: look up the tags of its digest in the registry"),
        ("unknown", "the image of consul-ecs is unknown"),
        ("9.9.9", &format!("consul-ecs 9.9.9 is not in the table of {}", table().as_of)),
    ] {
        let unsure = report(&[dataplane("web", tag, "1.9.0")], "1.22", "2.0");
        assert_eq!((named(&unsure.unknown), unsure.blockers.len()), (vec![("web:1", reason)], 0));
        let blocked = report(&[dataplane("web", tag, "1.6.2")], "1.20", "1.22");
        assert_eq!(blocked.blockers[0].reasons[1], reason, "its consul-dataplane blocks");
        assert!(blocked.unknown.is_empty(), "{blocked:?}");
    }
    let unread = InventoryRow { images: ImageTags::default(), ..row("web", MeshGeneration::Unknown, "", None) };
    let reason = "its containers are unknown, so it may or may not be in the mesh";
    assert_eq!(named(&report(&[unread], "1.22", "2.0").unknown), [("web:1", reason)]);
}

#[test]
fn newest_releases_go_with_the_target_and_if_some_do_with_the_servers() {
    let newest = |from: Option<&str>, target: &str| {
        let newest = upgrade(&[], from.map(line), line(target), None).unwrap().newest?;
        Some((newest.consul.join(" "), newest.consul_ecs, newest.consul_dataplane))
    };
    let releases = |consul: &str, dataplane: &str| {
        let lines: Vec<Release> = consul.split(' ').map(line).collect();
        let consul_ecs = newest_for(Program::ConsulEcs, &lines, |_| true)?;
        Some((consul.to_owned(), consul_ecs.to_string(), dataplane.to_owned()))
    };
    assert_eq!(newest(None, "2.0"), releases("2.0", "2.0.4"));
    assert_eq!(newest(Some("2.0"), "2.0"), releases("2.0", "2.0.4"));
    assert_eq!(newest(Some("1.22"), "2.0"), releases("1.22 2.0", "1.9.12"));
    assert_eq!(newest(Some("1.20"), "2.0"), releases("2.0", "2.0.4"), "no releases go with both");
    assert_eq!(newest(None, "1.13"), None, "before Consul Dataplane");
}

#[test]
fn demands_are_those_of_the_lines_up_to_the_target() {
    let demands = |from: Option<&str>, target: &str| -> Vec<String> {
        let notes = upgrade(&[], from.map(line), line(target), None).unwrap().notes.into_iter();
        notes.map(|note| note.split_once(": ").unwrap().0.to_owned()).collect()
    };
    assert_eq!(demands(Some("1.12"), "1.14"), ["Before Consul 1.13", "Before Consul 1.14"], "1.13 is not left out");
    assert_eq!(demands(None, "1.14"), ["Before Consul 1.14"]);
    assert!(demands(Some("1.14"), "1.14").is_empty());
}

#[test]
fn unknown_lines_and_downgrades_are_refused() {
    let refused =
        |from: &str, target: &str| upgrade(&[], Some(line(from)), line(target), None).unwrap_err().to_string();
    assert!(refused("1.8", "2.0").starts_with("Consul 1.8 is not in the table of 20"), "{}", refused("1.8", "2.0"));
    assert!(refused("1.22", "3.7").starts_with("Consul 3.7 is not in the table"), "{}", refused("1.22", "3.7"));
    let expected = "Consul's servers run 2.0, which is newer than 1.21: a downgrade is not supported";
    assert_eq!(refused("2.0", "1.21"), expected);
}

fn mesh_entry(fields: serde_json::Value) -> MeshEntry {
    let serde_json::Value::Object(fields) = fields else { panic!("{fields}") };
    MeshEntry::from(fields)
}

/// The demands on the config entry `mesh` before Consul 2.1, and the commands.
fn demanded(mesh_entry: Option<&MeshEntryReading>) -> (Vec<String>, Vec<String>) {
    let report = upgrade(&[], Some(line("2.0")), line("2.1"), mesh_entry).unwrap();
    let of_entry = report.notes.into_iter().filter(|note| note.contains("the config entry mesh")).collect();
    (of_entry, report.commands)
}

#[test]
fn entry_that_leaves_the_groups_to_the_servers_is_corrected_before_they_send_the_hybrid_one() {
    let strict = json!({ "TLSMinVersion": "TLSv1_3" });
    let entry = json!({ "Kind": "mesh", "ModifyIndex": 31, "TLS": { "Incoming": strict, "Outgoing": strict } });
    let (notes, commands) = demanded(Some(&Ok(Some(mesh_entry(entry)))));
    let start = "Before Consul 2.1: the config entry mesh demands TLS 1.3 (TLS.Incoming and Outgoing) and names no key-exchange groups";
    assert!(notes.len() == 1 && notes[0].starts_with(start), "{notes:?}");
    // Servers before 2.1 refuse a list of groups: the first command does without one
    let written =
        |direction: &str| format!(r#"{{"Kind":"mesh","TLS":{{"Incoming":{direction},"Outgoing":{direction}}}}}"#);
    let expected = [
        format!("echo '{}' | consul config write -cas -modify-index 31 -", written(r#"{"TLSMinVersion":"TLSv1_2"}"#)),
        format!("echo '{}' | consul config write -", written(r#"{"TLSMinVersion":"TLSv1_3","ECDHCurves":["X25519"]}"#)),
    ];
    assert_eq!(commands, expected);
}

#[test]
fn entry_that_names_groups_or_accepts_tls_1_2_is_not_mentioned() {
    for tls in [
        json!({ "Incoming": { "TLSMinVersion": "TLSv1_3", "ECDHCurves": ["X25519"] } }),
        json!({ "Incoming": { "TLSMinVersion": "TLSv1_2" } }),
        json!({}),
    ] {
        let read = Ok(Some(mesh_entry(json!({ "Kind": "mesh", "TLS": tls }))));
        assert_eq!(demanded(Some(&read)), (Vec::new(), Vec::new()), "{tls}");
    }
    assert_eq!(demanded(Some(&Ok(None))), (Vec::new(), Vec::new()));
    // Servers that have arrived demand nothing any more
    let strict = Ok(Some(mesh_entry(json!({ "TLS": { "Incoming": { "TLSMinVersion": "TLSv1_3" } } }))));
    assert_eq!(upgrade(&[], Some(line("2.1")), line("2.1"), Some(&strict)).unwrap().commands, [""; 0]);
}

#[test]
fn entry_that_is_not_known_is_said_with_what_it_must_not_be() {
    let (notes, commands) = demanded(None);
    assert!(notes.len() == 1 && notes[0].starts_with("Before Consul 2.1: where the config entry mesh"), "{notes:?}");
    assert_eq!(commands, [""; 0]);
    let subject = "the config entry mesh".to_owned();
    let denied =
        Err(ConsulError::PermissionDenied { subject, token: TokenOwner::Command, reason: "denied".to_owned() });
    let (notes, _) = demanded(Some(&denied));
    assert!(notes[0].contains("Whether the entry demands it is unknown: Consul could not be read"), "{notes:?}");
    assert!(needs_mesh_entry(line("2.1")) && !needs_mesh_entry(line("2.0")));
}
