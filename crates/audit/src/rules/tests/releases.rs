//! Every defect of the table that a definition shows: a definition that shows it, and one that does not.

use serde_json::{Value, json};

use crate::{
    audit,
    example::Base,
    finding::Finding,
    severity::Severity,
    versions::{Defect, table},
};

const ECS: &str = "consul-ecs";
const DATAPLANE: &str = "consul-dataplane";

/// A defect, and a definition that shows it: a base with changes, and with a release that has the defect. It is not shown
/// with `has_not`; if there is no such release, then without the changes.
struct Row {
    id: &'static str,
    base: Base,
    given: &'static [(&'static str, &'static str)],
    program: &'static str,
    has: &'static str,
    has_not: Option<&'static str>,
}

const fn row(id: &'static str, base: Base, program: &'static str, has: &'static str, has_not: &'static str) -> Row {
    Row { id, base, given: &[], program, has, has_not: Some(has_not) }
}

/// A defect that also depends on the configuration, in all releases from one on.
const fn with(id: &'static str, base: Base, has: &'static str, given: &'static [(&'static str, &'static str)]) -> Row {
    Row { id, base, given, program: ECS, has, has_not: None }
}

/// A defect of the ACL controller.
const fn of_acl_controller(id: &'static str, has: &'static str, has_not: &'static str) -> Row {
    const GIVEN: &[(&str, &str)] =
        &[("containerDefinitions[consul-ecs-controller].command", r#"["acl-controller", "-partitions-enabled"]"#)];
    Row { given: GIVEN, ..row(id, Base::Controller, ECS, has, has_not) }
}

const ROWS: &[Row] = &[
    of_acl_controller("ecs-token-cleanup", "0.4.2", "0.5.0"),
    of_acl_controller("ecs-anonymous-policy", "0.5.0", "0.5.1"),
    row("ecs-mesh-gateway-permissions", Base::Controller, ECS, "0.7.1", "0.7.2"),
    row("ecs-shutdown", Base::ControlPlane, ECS, "0.7.0", "0.7.1"),
    with("ecs-first-fields", Base::ControlPlane, "0.7.3", &[("config.transparentProxy", r#"{ "enabled": false }"#)]),
    row("ecs-dataplane-check-alone", Base::Dataplane, ECS, "0.8.1", "0.9.0"),
    Row { given: &[("config.proxy", "null")], ..row("ecs-proxy-missing", Base::Dataplane, ECS, "0.10.0", "latest") },
    row("ecs-mesh-init-copy", Base::Dataplane, ECS, "0.8.0-fips1402", "0.8.0"),
    with(
        "ecs-mesh-init-restart",
        Base::Dataplane,
        "0.10.1",
        &[("containerDefinitions[consul-ecs-mesh-init].restartPolicy", r#"{ "enabled": true }"#)],
    ),
    with(
        "ecs-login-replay",
        Base::Dataplane,
        "0.10.1",
        &[("containerDefinitions[consul-dataplane].restartPolicy", r#"{ "enabled": true }"#)],
    ),
    with("ecs-transparent-proxy-default", Base::Dataplane, "0.8.0", &[("config.transparentProxy", "null")]),
    row("ecs-critical-overwritten", Base::Dataplane, ECS, "0.9.1", "0.9.2"),
    row("ecs-missing-container-passes", Base::Dataplane, ECS, "0.9.4-fips1402", "0.10.0"),
    row("ecs-writes-every-second", Base::Dataplane, ECS, "0.9.2", "0.10.0"),
    Row {
        given: &[("config.service.networkResilienceConfig", r#"{ "outlierDetection": { "maxFailures": 5 } }"#)],
        ..row("ecs-resilience-off", Base::Dataplane, ECS, "0.9.4", "latest")
    },
    Row {
        given: &[("config.service.networkResilienceConfig", r#"{ "enabled": true }"#)],
        ..row("ecs-resilience-refused", Base::Dataplane, ECS, "0.10.0", "0.9.4")
    },
    row("ecs-fips-tag", Base::Dataplane, ECS, "0.10.1-fips1402", "0.10.0-fips1402"),
    row("dataplane-config-file", Base::ControlPlane, DATAPLANE, "1.2.8", "1.3.1"),
    row("dataplane-message-size", Base::ControlPlane, DATAPLANE, "1.3.0", "1.3.1"),
    row("dataplane-withdrawn-1.7", Base::Dataplane, DATAPLANE, "1.7.11", "1.7.12"),
    row("dataplane-withdrawn-1.8", Base::Dataplane, DATAPLANE, "1.8.9", "1.8.10"),
    row("dataplane-withdrawn-1.9", Base::Dataplane, DATAPLANE, "1.9.4", "1.9.5"),
    row("consul-auto-encrypt", Base::ClientGateway, "consul", "1.13.1", "1.13.2"),
    row("consul-leaf-certificates", Base::ClientGateway, "consul", "1.15.1", "1.15.2"),
];

/// The row's definition with the images of its program in this release.
fn definition(row: &Row, given: &'static [(&'static str, &'static str)], release: &str) -> Value {
    let mut definition = row.base.with(given.iter().map(|(path, json)| (*path, Some(*json)))).expect(row.id);
    for container in definition["containerDefinitions"].as_array_mut().unwrap() {
        let image = container["image"].as_str().unwrap().to_owned();
        let (repository, _) = image.split_once(':').unwrap();
        if repository.ends_with(&format!("/{}", row.program)) {
            container["image"] = json!(format!("{repository}:{release}"));
        }
    }
    definition
}

fn named(id: &str) -> &'static Row {
    ROWS.iter().find(|row| row.id == id).unwrap()
}

fn findings(definition: &Value) -> Vec<Finding> {
    audit(&super::material(&serde_json::to_string_pretty(definition).unwrap()))
}

/// Whether a definition has a finding of the defect: one that quotes the table, if the rule reports several defects.
fn is_found(defect: &Defect, rule: &str, definition: &Value) -> bool {
    let is_shared = table().defects.iter().filter(|other| other.rule.as_deref() == Some(rule)).count() > 1;
    let is_meant = |finding: &Finding| {
        !is_shared || finding.effect.contains(&defect.what) || finding.message.contains(&defect.what)
    };
    findings(definition).iter().any(|finding| finding.rule.id == rule && is_meant(finding))
}

#[test]
fn every_defect_that_a_definition_shows_is_found() {
    for defect in &table().defects {
        let row = ROWS.iter().find(|row| row.id == defect.id);
        let Some(rule) = defect.rule.as_deref() else {
            assert!(row.is_none(), "{}: no definition shows it", defect.id);
            continue;
        };
        let row = row.unwrap_or_else(|| panic!("{}: no row", defect.id));
        assert!(is_found(defect, rule, &definition(row, row.given, row.has)), "{} in {}", row.id, row.has);
        let without = match row.has_not {
            Some(release) => definition(row, row.given, release),
            None => definition(row, &[], row.has),
        };
        assert!(!is_found(defect, rule, &without), "{} not in {:?}", row.id, row.has_not);
    }
}

#[test]
fn the_controller_has_its_own_defects_and_its_support_ends() {
    let row = named("ecs-mesh-gateway-permissions");
    let found = findings(&definition(row, row.given, "0.7.0"));
    let rules: Vec<&str> = found.iter().map(|finding| finding.rule.id).collect();
    assert_eq!(rules, ["consul-end-of-support", "consul-release-defect"]);
    assert!(!found[1].effect.contains("consul-dataplane"), "a defect of tasks: {}", found[1].effect);
    assert_eq!(findings(&definition(row, row.given, "0.10.1")).len(), 0);
}

#[test]
fn a_finding_about_a_release_names_it() {
    let found = findings(&definition(named("ecs-critical-overwritten"), &[], "0.9.1"));
    let [finding] = found.iter().filter(|finding| finding.rule.id == "consul-release-defect").collect::<Vec<_>>()[..]
    else {
        panic!("one finding for both containers of consul-ecs: {found:?}");
    };
    assert_eq!(finding.message, "consul-ecs 0.9.1 has 3 known defects");
    assert!(finding.effect.starts_with("health-sync overwrites"), "{}", finding.effect);
    assert_eq!(finding.help, "use consul-ecs 0.10.0 or newer");
    assert_eq!(finding.notes.len(), 1);
}

#[test]
fn a_restarted_container_is_named_with_its_release_if_that_is_known() {
    let row = named("ecs-mesh-init-restart");
    let message = |tag: &str| {
        let found = findings(&definition(row, row.given, tag));
        found.into_iter().find(|finding| finding.rule.id == "consul-restart-policy").map(|finding| finding.message)
    };
    let what = "mesh-init registers the service again whenever ECS restarts it, and sets its checks to critical";
    let of_release = format!("ECS restarts consul-ecs-mesh-init of consul-ecs 0.10.1: {what}");
    assert_eq!(message("0.10.1"), Some(of_release));
    assert_eq!(message("latest"), Some(format!("ECS restarts consul-ecs-mesh-init: {what}")));
    assert_eq!(message("0.7.3"), None, "a release without the defect");
}

#[test]
fn an_unknown_release_has_no_findings() {
    for tag in ["latest", "0.9-dev", "0.9.0-dev", "9.9.9"] {
        let found = findings(&definition(named("ecs-critical-overwritten"), &[], tag));
        let of_releases = found.iter().filter(|finding| finding.severity > Severity::Info);
        // 0.9 is a line that does not go with the base's Consul Dataplane.
        let ids: Vec<&str> =
            of_releases.map(|finding| finding.rule.id).filter(|id| *id != "consul-release-pair").collect();
        assert_eq!(ids, [""; 0], "{tag}");
    }
}

#[test]
fn the_end_of_support_is_reported_once_in_a_definition() {
    let ended = |base: Base| {
        let definition = serde_json::from_str(base.json()).unwrap();
        let found = findings(&definition);
        found.into_iter().filter(|finding| finding.rule.id == "consul-end-of-support").collect::<Vec<Finding>>()
    };
    assert!(ended(Base::Dataplane).is_empty());
    let client = ended(Base::Client);
    assert_eq!(client.len(), 1);
    assert!(client[0].message.starts_with("consul-ecs 0.4 goes with Consul 1.11, whose support has ended (as of 20"));
    // health-sync and the client agent.
    assert_eq!(client[0].notes.len(), 2);
    assert!(ended(Base::ControlPlane)[0].message.contains("Consul 1.16 and Consul 1.17"));
}

#[test]
fn lines_without_a_row_are_not_judged() {
    let mut definition: Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
    definition["containerDefinitions"][2]["image"] = json!("hashicorp/consul-dataplane:7.0.0");
    let found = findings(&definition);
    assert_eq!(found.iter().map(|finding| finding.rule.id).collect::<Vec<_>>(), ["consul-release-unknown"]);
}
