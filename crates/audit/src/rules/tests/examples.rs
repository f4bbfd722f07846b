//! Every rule's example: with the defect, there is exactly one finding, of that rule; without it, there is none. The
//! bases have no findings.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    audit,
    example::{Base, Example},
    finding::Finding,
    rules::rules,
};
use audit_read::{Material, input::read_source};
use document::SourceFile;

/// Reported for every definition or mesh of App Mesh, or with containers of an old generation.
const ALWAYS: [&str; 3] = ["appmesh-end-of-service", "appmesh-mesh-end-of-service", "consul-end-of-support"];

/// Reported only for a definition together with a service, with other definitions or with a deployment. These rules have separate tests.
/// A JSON value shows no equal keys.
const NEVER_ALONE: [&str; 12] = [
    "consul-gateway-kind-tag",
    "consul-server-lookup",
    "consul-server-tags",
    "consul-deployment-strategy",
    "consul-tags-not-propagated",
    "consul-task-role-shared",
    "consul-task-role-tags",
    "consul-token-secret-managed",
    "consul-upstream-misspelt",
    "ecs-duplicate-key",
    "ecs-family-twice",
    "ecs-load-balancer-target",
];

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

pub(super) fn shown(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| format!("{}: {}", finding.rule.id, finding.message)).collect()
}

/// The examples that have other findings than expected, with the defect or without it.
fn unexpected(variant: impl Fn(&Example) -> Option<Value>, is_broken: bool) -> Vec<String> {
    let mut unexpected = Vec::new();
    for rule in rules() {
        if let Some(example) = &rule.example {
            let found = findings(example.base, &variant(example).expect(rule.id));
            let ids: Vec<&str> = found.iter().map(|finding| finding.rule.id).collect();
            let expected = if is_broken { vec![rule.id] } else { Vec::new() };
            if ids != expected {
                unexpected.push(format!("{} at {}: {:#?}", rule.id, example.at, shown(&found)));
            }
        }
    }
    unexpected
}

#[test]
fn a_defect_has_one_finding_of_its_rule() {
    assert_eq!(unexpected(Example::broken, true), Vec::<String>::new());
}

#[test]
fn a_corrected_example_has_no_findings() {
    assert_eq!(unexpected(Example::repaired, false), Vec::<String>::new());
}

#[test]
fn every_rule_has_a_complete_description() {
    let mut ids: Vec<&str> = rules().map(|rule| rule.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), rules().count());
    for rule in rules() {
        let group = ["consul-", "appmesh-", "ecs-"].iter().any(|group| rule.id.starts_with(group));
        assert!(group, "{}: the ID's group", rule.id);
        assert!(!rule.summary.ends_with('.') && !rule.effect.ends_with('.'), "{}: a phrase, not a sentence", rule.id);
        let is_plain = |text: &str| !text.contains(['`', '*']);
        assert!(is_plain(rule.summary) && is_plain(rule.effect), "{}: only the explanation is Markdown", rule.id);
        assert!(rule.explanation.ends_with('.') && rule.explanation.len() > 80, "{}: an explanation", rule.id);
        assert!(!rule.sources.is_empty(), "{}: its source", rule.id);
        let has_none = ALWAYS.contains(&rule.id) || NEVER_ALONE.contains(&rule.id);
        assert!(rule.example.is_some() || has_none, "{}: an example", rule.id);
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
