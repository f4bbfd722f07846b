//! The definitions after their fixes.

use serde_json::{Value, json};

use super::examples::findings;
use crate::{example::Base, finding::Finding, fix::apply};
use audit_read::definition::Dialect;

/// The definition after the finding's fix, if it has one.
fn fixed(finding: &Finding) -> Option<Value> {
    let fix = finding.fix.as_ref()?;
    let text = apply(&finding.file.text, Dialect::Ecs, &fix.edits).expect(finding.rule.id);
    Some(serde_json::from_str(&text).unwrap())
}

fn app_mesh_with(user: &str, ignored: &str) -> Value {
    let mut definition: Value = serde_json::from_str(Base::AppMesh.json()).unwrap();
    for container in definition["containerDefinitions"].as_array_mut().unwrap() {
        if container["name"] == "envoy" {
            container["user"] = json!(user);
        }
    }
    for property in definition["proxyConfiguration"]["properties"].as_array_mut().unwrap() {
        if property["name"] == "IgnoredUID" {
            property["value"] = json!(ignored);
        }
    }
    definition
}

#[test]
fn envoy_s_user_becomes_the_ignored_user() {
    let found = findings(Base::AppMesh, &app_mesh_with("0:5", "1337"));
    assert_eq!(fixed(&found[0]).unwrap(), app_mesh_with("1337:5", "1337"));

    // The daemon runs as 1337, too.
    let found = findings(Base::AppMesh, &app_mesh_with("1337", "1338"));
    assert_eq!(fixed(&found[0]).unwrap(), app_mesh_with("1337", "1337"));

    let found = findings(Base::AppMesh, &app_mesh_with("5", "0"));
    assert!(found.iter().any(|finding| finding.rule.id == "appmesh-ignored-user"));
    assert!(found.iter().all(|finding| finding.rule.id != "appmesh-ignored-user" || finding.fix.is_none()));
}

#[test]
fn milliseconds_become_seconds() {
    let plain_with = |key: &str, value: u64| {
        let mut definition: Value = serde_json::from_str(Base::Plain.json()).unwrap();
        for container in definition["containerDefinitions"].as_array_mut().unwrap() {
            if container["name"] == "cache" {
                container["healthCheck"][key] = json!(value);
            }
        }
        definition
    };
    let fixed_to = |key: &str, value: u64| fixed(&findings(Base::Plain, &plain_with(key, value))[0]);
    assert_eq!(fixed_to("interval", 30_000), Some(plain_with("interval", 30)));
    assert_eq!(fixed_to("timeout", 1000), None);
    assert_eq!(fixed_to("startPeriod", 900_000), None);
    assert_eq!(fixed_to("startPeriod", 600), Some(plain_with("startPeriod", 300)));
}

#[test]
fn a_network_mode_is_fixed_only_if_ecs_accepts_it() {
    let correct: Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
    for (key, value, has_fix) in [
        ("links", json!([]), true),
        ("links", json!(["consul-dataplane"]), false),
        ("portMappings", json!([{ "containerPort": 9090, "hostPort": 8080 }]), false),
        ("portMappings", json!([{ "containerPort": 9090, "hostPort": 0 }]), true),
    ] {
        let mut definition = correct.clone();
        definition["networkMode"] = json!("bridge");
        definition["containerDefinitions"][0][key] = value.clone();
        let found = findings(Base::Dataplane, &definition);
        assert_eq!(found.iter().map(|found| found.rule.id).collect::<Vec<_>>(), ["consul-network-mode"]);
        assert_eq!(found[0].fix.is_some(), has_fix, "{value}");
    }
}
