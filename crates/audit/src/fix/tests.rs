//! Files are fixed until nothing is left to fix, in the spelling of their format.

use std::sync::Arc;

use document::{PathStep, Route, SourceFile};
use serde_json::json;
use terraform::Tree;

use super::*;

#[test]
fn values_are_spelled_as_in_the_format_of_the_file_but_not_in_embedded_json() {
    let route = |steps: &[PathStep]| steps.iter().cloned().collect::<Route>();
    let key = |key: &str| PathStep::Key(key.to_owned());
    let edits = [
        Edit { route: route(&[key("Volumes")]), change: Change::Set(json!([{ "name": "consul_data" }])) },
        Edit {
            route: route(&[key("Value"), PathStep::Embedded, key("proxy")]),
            change: Change::Set(json!({ "healthCheckPort": 2 })),
        },
    ];
    let edited = apply("Volumes: []\nValue: '{\"proxy\": {}}'\n", Dialect::CloudFormation, &edits).unwrap();
    assert!(edited.contains("\"Name\"") && edited.contains("\"healthCheckPort\""), "{edited}");
}

#[test]
fn a_file_is_fixed_completely() {
    let broken = crate::example::Base::Dataplane.json().replace("awsvpc", "bridge").replace("1048576", "2097152");
    let repaired = repair(Arc::new(SourceFile::new("task.json", broken)), &Tree::default(), |_| true);
    let ids: Vec<&str> = repaired.fixed.iter().map(|finding| finding.rule.id).collect();
    assert_eq!(ids, ["consul-network-mode", "consul-proxy-open-files"]);
    assert!(repaired.left.is_empty());
    assert_eq!(repaired.after.text, crate::example::Base::Dataplane.json());
    // A second run changes nothing.
    let again = repair(repaired.after.clone(), &Tree::default(), |_| true);
    assert_eq!((again.fixed.len(), &again.after), (0, &repaired.after));
}

fn repaired(name: &str, text: &str) -> Repair {
    repair(Arc::new(SourceFile::new(name, text)), &Tree::default(), |_| true)
}

fn broken() -> serde_json::Value {
    let text = crate::example::Base::Dataplane.json().replace("awsvpc", "bridge").replace("1048576", "2097152");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn readable_definitions_are_fixed_beside_unreadable_ones() {
    let file = json!([broken(), { "family": 7, "containerDefinitions": [] }]);
    let repaired = repaired("tasks.json", &serde_json::to_string_pretty(&file).unwrap());
    assert_eq!((repaired.fixed.len(), repaired.left.len()), (2, 0));
}

#[test]
fn all_definitions_of_one_name_are_fixed() {
    let text = serde_json::to_string_pretty(&json!([broken(), broken()])).unwrap();
    let repaired = repaired("tasks.json", &text);
    assert_eq!(repaired.fixed.iter().filter(|finding| finding.rule.id == "consul-network-mode").count(), 2);
    assert!(repaired.left.is_empty(), "{:?}", repaired.left);
    assert!(!repaired.after.text.contains("bridge"));
}
