//! What each page says, and findings of definitions.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{audit, example::Base, finding::Finding, rules::rules};
use audit_read::{Material, input::read_source};
use document::SourceFile;

/// Reported for every definition or mesh of App Mesh, or with containers of an old generation.
const ALWAYS: [&str; 3] = ["appmesh-end-of-service", "appmesh-mesh-end-of-service", "consul-end-of-support"];

pub(super) fn findings(base: Base, json: &Value) -> Vec<Finding> {
    let file = SourceFile::new("example.json", serde_json::to_string_pretty(json).unwrap());
    let mut material = Material::default();
    read_source(Arc::new(file), true, &mut material).unwrap();
    let mut findings = audit(&material);
    // Each release of consul-ecs 0.7 has a known defect.
    let is_expected = |id: &str| ALWAYS.contains(&id) || (base == Base::ControlPlane && id == "consul-release-defect");
    findings.retain(|finding| !is_expected(finding.rule.id));
    findings
}

#[test]
fn every_rule_has_a_complete_page() {
    let mut ids: Vec<&str> = rules().map(|rule| rule.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), rules().count());
    for rule in rules() {
        let (id, texts) = (rule.id, rule.texts());
        let group = ["consul-", "appmesh-", "ecs-"].iter().any(|group| id.starts_with(group));
        assert!(group, "{id}: the ID's group");
        // Without a title, a part of the page is missing.
        assert!(!texts.title.is_empty() && !texts.title.contains('\n'), "{id}: a title, and all parts of the page");
        assert!(!texts.effect.contains(['`', '*', '\n']), "{id}: a phrase of plain text");
        assert!(texts.explanation.ends_with('.') && texts.explanation.len() > 80, "{id}: an explanation");
        assert!(texts.advice.ends_with(['.', '`']), "{id}: what to do");
        assert!(!texts.sources.is_empty(), "{id}: its source");
        assert_eq!(texts.applies, rule.applies.to_string(), "{id}: what it applies to");
    }
}

#[test]
fn two_cycles_are_two_findings_with_their_paths() {
    let waits = |name: &str, on: &[&str]| {
        let on: Vec<Value> = on.iter().map(|on| json!({ "containerName": on, "condition": "START" })).collect();
        json!({ "name": name, "image": "example/app:1", "dependsOn": on })
    };
    let definition = json!({ "family": "cycles", "containerDefinitions": [
        waits("a", &["b"]), waits("b", &["c", "e"]), waits("c", &["a"]), waits("d", &["e"]), waits("e", &["d"]),
    ] });
    let messages: Vec<String> = findings(Base::Plain, &definition).into_iter().map(|found| found.message).collect();
    let shown = |cycle: &str| format!("these containers wait for each other: {cycle}");
    assert_eq!(messages, [shown("a → b → c → a"), shown("d → e → d")]);
}

#[test]
fn health_sync_says_through_which_container_it_waits_for_the_proxy() {
    let messages = |on: &str, condition: &str, release: &str| {
        // Given a health-sync of a release that waits for a container.
        let mut definition: Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
        let containers = definition["containerDefinitions"].as_array_mut().unwrap();
        let is_health_sync = |container: &&mut Value| container["name"] == "consul-ecs-health-sync";
        let health_sync = containers.iter_mut().find(is_health_sync).unwrap();
        health_sync["image"] = json!(format!("public.ecr.aws/hashicorp/consul-ecs:{release}"));
        let awaited = json!({ "containerName": on, "condition": condition });
        health_sync["dependsOn"].as_array_mut().unwrap().push(awaited);
        let found = findings(Base::Dataplane, &definition);
        let found = found.into_iter().filter(|found| found.rule.id == "consul-health-sync-end");
        found.map(|found| found.message).collect::<Vec<_>>()
    };
    let direct = "consul-ecs-health-sync waits until consul-dataplane is HEALTHY";
    assert_eq!(messages("consul-dataplane", "HEALTHY", "0.10.1"), [direct]);
    let indirect = "consul-ecs-health-sync waits for consul-dataplane through web";
    assert_eq!(messages("web", "HEALTHY", "latest"), [indirect]);
    // A container that has ended keeps no proxy running, and the health-sync of older releases exits at TERM.
    assert_eq!(messages("web", "COMPLETE", "0.10.1"), [""; 0]);
    assert_eq!(messages("consul-dataplane", "HEALTHY", "0.8.0"), [direct]);
    assert_eq!(messages("consul-dataplane", "HEALTHY", "0.6.1"), [""; 0]);
}
