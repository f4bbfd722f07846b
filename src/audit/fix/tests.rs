//! Edits in JSON and in YAML: what is not edited stays as it is.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::audit::{document::Route, source::SourceFile};

fn edit(path: &[Step], change: Change) -> Edit {
    let route = path.iter().cloned().fold(Route::default(), |route, step| route.then(step));
    Edit { route, change }
}

fn key(key: &str) -> Step {
    Step::Key(key.to_owned())
}

#[test]
fn json_keeps_its_formatting_and_comments() {
    let text = "{\n  // who\n  \"family\": \"web\",\n  \"containers\": [\n    { \"name\": \"a\" }\n  ]\n}\n";
    let edits = [
        edit(&[key("networkMode")], Change::Set(json!("awsvpc"))),
        edit(&[key("containers"), Step::Index(0), key("essential")], Change::Set(json!(false))),
        edit(&[key("containers")], Change::Append(json!({ "name": "b" }))),
    ];
    let edited = apply(text, Dialect::Ecs, &edits).unwrap();
    assert_eq!(
        edited,
        "{\n  // who\n  \"family\": \"web\",\n  \"containers\": [\n    {\n      \"name\": \"a\",\n      \"essential\": false\n    },\n    {\n      \"name\": \"b\"\n    }\n  ],\n  \"networkMode\": \"awsvpc\"\n}\n"
    );
}

#[test]
fn yaml_keeps_its_formatting_and_comments_and_short_forms() {
    let text = "Resources:\n  Task: # the task\n    Properties:\n      Family: !Sub '${Name}'\n      NetworkMode: bridge  # why?\n      ContainerDefinitions:\n        - Name: a\n          Command: [x, y]\n";
    let properties = [key("Resources"), key("Task"), key("Properties")];
    let at = |rest: &[Step]| [&properties[..], rest].concat();
    let edits = [
        edit(&at(&[key("NetworkMode")]), Change::Set(json!("awsvpc"))),
        edit(&at(&[key("Volumes")]), Change::Set(json!([{ "name": "consul_data" }]))),
        edit(&at(&[key("ContainerDefinitions"), Step::Index(0), key("Essential")]), Change::Set(json!(false))),
        edit(&at(&[key("ContainerDefinitions"), Step::Index(0), key("Command")]), Change::Append(json!("z"))),
        edit(&at(&[key("ContainerDefinitions")]), Change::Append(json!({ "name": "b", "dependsOn": [] }))),
    ];
    let edited = apply(text, Dialect::CloudFormation, &edits).unwrap();
    assert_eq!(
        edited,
        "Resources:\n  Task: # the task\n    Properties:\n      Family: !Sub '${Name}'\n      NetworkMode: awsvpc  # why?\n      ContainerDefinitions:\n        - Name: a\n          Command: [x, y, \"z\"]\n          Essential: false\n        - Name: b\n          DependsOn: []\n      Volumes: [{ Name: consul_data }]\n"
    );
}

#[test]
fn a_list_as_far_left_as_its_key_becomes_another_one() {
    let text = "a:\n  b:\n  - x\n  - y\n  c: 1\n";
    let edited = apply(text, Dialect::Ecs, &[edit(&[key("a"), key("b")], Change::Set(json!(["z"])))]).unwrap();
    assert_eq!(edited, "a:\n  b: [\"z\"]\n  c: 1\n");
    let removed = apply("a:\n- x: 1\nb: 2\n", Dialect::Ecs, &[edit(&[key("a"), Step::Index(0)], Change::Remove)]);
    assert_eq!(removed.unwrap(), "a: []\nb: 2\n");
    let block = "a:\n- |\n  one\n  two\n- b\n";
    let edited = apply(block, Dialect::Ecs, &[edit(&[key("a"), Step::Index(0)], Change::Set(json!("one\nthree\n")))]);
    assert_eq!(edited.unwrap(), "a:\n- |\n  one\n  three\n- b\n");
}

#[test]
fn what_stands_in_a_string_is_edited_there() {
    let text = "{\n  \"value\": \"{ \\\"proxy\\\": {\\\"port\\\": 1} }\"\n}\n";
    let path = [key("value"), Step::Embedded, key("proxy"), key("port")];
    let edited = apply(text, Dialect::Ecs, &[edit(&path, Change::Set(json!(2)))]).unwrap();
    assert_eq!(edited, text.replace('1', "2"));
    let yaml = "Value: '{\"proxy\": {\"port\": 1}}'\n";
    let path = [key("Value"), Step::Embedded, key("proxy"), key("port")];
    let edited = apply(yaml, Dialect::CloudFormation, &[edit(&path, Change::Set(json!(2)))]).unwrap();
    assert!(edited.contains("\"port\": 2"), "{edited}");
}

#[test]
fn an_edit_that_would_touch_more_is_refused() {
    // Taking one entry out of a flow mapping would take its whole line
    let text = "a: {b: 1, c: 2}\n";
    let error = apply(text, Dialect::Ecs, &[edit(&[key("a"), key("b")], Change::Remove)]).unwrap_err();
    assert!(matches!(error, EditError::NotMinimal | EditError::Notation(_)), "{error}");
    let nowhere = edit(&[key("x"), key("y")], Change::Set(json!(1)));
    assert!(matches!(apply("{}", Dialect::Ecs, &[nowhere]), Err(EditError::NoSuchPlace(_))));
}

#[test]
fn a_file_is_mended_until_nothing_is_left_to_mend() {
    let broken =
        crate::audit::example::Base::Dataplane.json().replace("awsvpc", "bridge").replace("1048576", "2097152");
    let repaired = repair(Arc::new(SourceFile::new("task.json", broken)), |_| true);
    let ids: Vec<&str> = repaired.mended.iter().map(|finding| finding.rule.id).collect();
    assert_eq!(ids, ["consul-network-mode", "consul-proxy-open-files"]);
    assert!(repaired.left.is_empty());
    assert_eq!(repaired.after.text, crate::audit::example::Base::Dataplane.json());
    // And once more, nothing changes
    let again = repair(repaired.after.clone(), |_| true);
    assert_eq!((again.mended.len(), &again.after), (0, &repaired.after));
}

#[test]
fn every_example_with_a_fix_is_repaired_by_it() {
    for rule in crate::audit::rules::rules() {
        for example in rule.examples {
            let broken = serde_json::to_string_pretty(&example.broken().unwrap()).unwrap();
            let outcome = repair(Arc::new(SourceFile::new("task.json", broken)), |finding| finding.rule.id == rule.id);
            assert!(outcome.left.is_empty(), "{} at {}: {:?}", rule.id, example.at, outcome.left);
        }
    }
}
