//! Edits in JSON and in YAML: everything else keeps its formatting.

use serde_json::json;

use super::*;
use crate::place::{PathStep, Route};

fn edit(path: &[PathStep], change: Change) -> Edit {
    let route = path.iter().cloned().collect::<Route>();
    Edit { route, change }
}

fn key(key: &str) -> PathStep {
    PathStep::Key(key.to_owned())
}

#[test]
fn json_keeps_its_formatting_and_comments() {
    let text = "{\n  // who\n  \"family\": \"web\",\n  \"containers\": [\n    { \"name\": \"a\" }\n  ]\n}\n";
    let edits = [
        edit(&[key("networkMode")], Change::Set(json!("awsvpc"))),
        edit(&[key("containers"), PathStep::Index(0), key("essential")], Change::Set(json!(false))),
        edit(&[key("containers")], Change::Append(json!({ "name": "b" }))),
    ];
    let edited = apply(text, Language::JsonOrYaml, &edits).unwrap();
    assert_eq!(
        edited,
        "{\n  // who\n  \"family\": \"web\",\n  \"containers\": [\n    {\n      \"name\": \"a\",\n      \"essential\": false\n    },\n    {\n      \"name\": \"b\"\n    }\n  ],\n  \"networkMode\": \"awsvpc\"\n}\n"
    );
}

#[test]
fn yaml_keeps_its_formatting_and_comments_and_short_forms() {
    let text = "Resources:\n  Task: # the task\n    Properties:\n      Family: !Sub '${Name}'\n      NetworkMode: bridge  # why?\n      ContainerDefinitions:\n        - Name: a\n          Command: [x, y]\n";
    let properties = [key("Resources"), key("Task"), key("Properties")];
    let at = |rest: &[PathStep]| [&properties[..], rest].concat();
    let edits = [
        edit(&at(&[key("NetworkMode")]), Change::Set(json!("awsvpc"))),
        edit(&at(&[key("Volumes")]), Change::Set(json!([{ "Name": "consul_data" }]))),
        edit(&at(&[key("ContainerDefinitions"), PathStep::Index(0), key("Essential")]), Change::Set(json!(false))),
        edit(&at(&[key("ContainerDefinitions"), PathStep::Index(0), key("Command")]), Change::Append(json!("z"))),
        edit(&at(&[key("ContainerDefinitions")]), Change::Append(json!({ "Name": "b", "DependsOn": [] }))),
    ];
    let edited = apply(text, Language::JsonOrYaml, &edits).unwrap();
    assert_eq!(
        edited,
        "Resources:\n  Task: # the task\n    Properties:\n      Family: !Sub '${Name}'\n      NetworkMode: awsvpc  # why?\n      ContainerDefinitions:\n        - Name: a\n          Command: [x, y, \"z\"]\n          Essential: false\n        - Name: b\n          DependsOn: []\n      Volumes: [{ Name: consul_data }]\n"
    );
}

#[test]
fn a_key_is_added_to_a_map_in_braces() {
    let text = "{family: web, containers: [\n    {name: a, user: '5995',\n      ports: []}, {} ]} # why\n";
    let at = |index: usize, name: &str| [key("containers"), PathStep::Index(index), key(name)];
    let limits = json!([{ "name": "nofile", "softLimit": 1 }]);
    let edits = [
        edit(&at(0, "ulimits"), Change::Set(limits)),
        edit(&at(1, "essential"), Change::Set(json!(false))),
        edit(&[key("a b")], Change::Set(json!("c: d"))),
    ];
    assert_eq!(
        apply(text, Language::JsonOrYaml, &edits).unwrap(),
        "{family: web, containers: [\n    {name: a, user: '5995',\n      ports: [], ulimits: \
         [{\"name\":\"nofile\",\"softLimit\":1}]}, {essential: false} ], \"a b\": \"c: d\"} # why\n"
    );
}

#[test]
fn an_edit_that_the_notation_does_not_allow_is_refused_in_plain_words() {
    let mut refused = Vec::new();
    for text in ["a: {x: 1,\n  y: 2}\n", "a: !tag {x: 1}\n", "a: &b # why\n  x: 1\n"] {
        for change in [Change::Remove, Change::Set(json!("z\nz")), Change::Append(json!(1))] {
            let edits = [edit(&[key("a"), key("x")], change)];
            refused.extend(apply(text, Language::JsonOrYaml, &edits).err().map(|error| error.to_string()));
        }
    }
    let notation = "the notation of the file does not allow the edit";
    let absent = "a.x does not exist in the file";
    let expected = [
        "the edit would also change another part of the file",
        absent,
        absent,
        &format!("{notation}: a value behind a tag, or behind an anchor and a comment"),
        absent,
        &format!("{notation}: a.x cannot be edited without changing the form of this part of the YAML"),
        absent,
    ];
    assert_eq!(refused, expected);
}

#[test]
fn a_list_without_indentation_is_replaced() {
    let text = "a:\n  b:\n  - x\n  - y\n  c: 1\n";
    let edited = apply(text, Language::JsonOrYaml, &[edit(&[key("a"), key("b")], Change::Set(json!(["z"])))]).unwrap();
    assert_eq!(edited, "a:\n  b: [\"z\"]\n  c: 1\n");
    let removed =
        apply("a:\n- x: 1\nb: 2\n", Language::JsonOrYaml, &[edit(&[key("a"), PathStep::Index(0)], Change::Remove)]);
    assert_eq!(removed.unwrap(), "a: []\nb: 2\n");
    let block = "a:\n- |\n  one\n  two\n- b\n";
    let edited = apply(
        block,
        Language::JsonOrYaml,
        &[edit(&[key("a"), PathStep::Index(0)], Change::Set(json!("one\nthree\n")))],
    );
    assert_eq!(edited.unwrap(), "a:\n- |\n  one\n  three\n- b\n");
}

#[test]
fn embedded_json_is_edited_in_its_string() {
    let text = "{\n  \"value\": \"{ \\\"proxy\\\": {\\\"port\\\": 1} }\"\n}\n";
    let path = [key("value"), PathStep::Embedded, key("proxy"), key("port")];
    let edited = apply(text, Language::JsonOrYaml, &[edit(&path, Change::Set(json!(2)))]).unwrap();
    assert_eq!(edited, text.replace('1', "2"));
    let yaml = "Value: '{\"proxy\": {\"port\": 1}}'\n";
    let path = [key("Value"), PathStep::Embedded, key("proxy"), key("port")];
    let edited = apply(yaml, Language::JsonOrYaml, &[edit(&path, Change::Set(json!(2)))]).unwrap();
    assert!(edited.contains("\"port\": 2"), "{edited}");
}

#[test]
fn an_edit_that_would_change_more_is_refused() {
    // To remove one entry of a flow mapping would remove its whole line.
    let text = "a: {b: 1, c: 2}\n";
    let error = apply(text, Language::JsonOrYaml, &[edit(&[key("a"), key("b")], Change::Remove)]).unwrap_err();
    assert!(matches!(error, EditError::NotMinimal | EditError::Notation(_)), "{error}");
    let missing = edit(&[key("x"), key("y")], Change::Set(json!(1)));
    assert!(matches!(apply("{}", Language::JsonOrYaml, &[missing]), Err(EditError::NoSuchPlace(_))));
}

fn set(text: &str, path: &[PathStep], value: serde_json::Value) -> Result<String, EditError> {
    apply(text, Language::JsonOrYaml, &[edit(path, Change::Set(value))])
}

fn append(text: &str, path: &[PathStep], value: serde_json::Value) -> Result<String, EditError> {
    apply(text, Language::JsonOrYaml, &[edit(path, Change::Append(value))])
}

#[test]
fn json_is_recognized_after_comments_and_a_byte_order_mark() {
    for text in ["// who\n{ \"a\": 1 }\n", "\u{feff}{\n  \"a\": 1\n}\n", "/* who */ {\"a\": 1}"] {
        assert_eq!(set(text, &[key("a")], json!(2)).unwrap(), text.replace('1', "2"));
    }
}

#[test]
fn yaml_is_recognized_in_flow_style_and_after_a_byte_order_mark() {
    for text in ["{a: 1, b: [x]}\n", "\u{feff}a: 1\nb: [x]\n"] {
        assert_eq!(set(text, &[key("a")], json!(2)).unwrap(), text.replace('1', "2"));
        assert_eq!(append(text, &[key("b")], json!("y")).unwrap(), text.replace('x', "x, \"y\""));
    }
}

#[test]
fn line_ends_are_kept() {
    let yaml = "a:\r\n  b: 1\r\n  c:\r\n    - x\r\n";
    let edited = append(&set(yaml, &[key("a"), key("d")], json!("new")).unwrap(), &[key("a"), key("c")], json!("y"));
    assert_eq!(edited.unwrap(), "a:\r\n  b: 1\r\n  c:\r\n    - x\r\n    - y\r\n  d: new\r\n");
    let json = "{\r\n  \"a\": 1\r\n}\r\n";
    assert_eq!(set(json, &[key("b")], json!(2)).unwrap(), "{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}\r\n");
}

#[test]
fn json_of_one_line_stays_on_one_line() {
    let text = r#"{"a":[1],"b":{},"c":true}"#;
    assert_eq!(append(text, &[key("a")], json!({ "x": 1 })).unwrap(), r#"{"a":[1,{"x":1}],"b":{},"c":true}"#);
    assert_eq!(set(text, &[key("b"), key("d")], json!([2])).unwrap(), r#"{"a":[1],"b":{"d":[2]},"c":true}"#);
    for (removed, expected) in
        [("a", r#"{"b":{},"c":true}"#), ("b", r#"{"a":[1],"c":true}"#), ("c", r#"{"a":[1],"b":{}}"#)]
    {
        let edits = [edit(&[key(removed)], Change::Remove)];
        assert_eq!(apply(text, Language::JsonOrYaml, &edits).unwrap(), expected);
    }
    assert_eq!(set(r#"{"a": 1}"#, &[key("b")], json!(2)).unwrap(), r#"{"a": 1, "b": 2}"#);
}

#[test]
fn only_the_changed_items_of_a_list_are_written() {
    let yaml = "a:\n  - x # one\n  # two\n  - y\nb: 1\n";
    assert_eq!(set(yaml, &[key("a")], json!(["x", "z"])).unwrap(), yaml.replace("- y", "- z"));
    assert_eq!(set(yaml, &[key("a")], json!(["x", "y", "z"])).unwrap(), yaml.replace("- y\n", "- y\n  - z\n"));
    let json = "{\n  \"a\": [\n    \"x\", // one\n    \"y\" // two\n  ]\n}\n";
    assert_eq!(set(json, &[key("a")], json!(["x", "z"])).unwrap(), json.replace("\"y\"", "\"z\""));
}

#[test]
fn an_edit_that_would_delete_comments_is_refused() {
    for text in ["a:\n  - x # one\n  - y\n", "{\n  \"a\": [\n    \"x\", // one\n    \"y\"\n  ]\n}\n"] {
        let error = set(text, &[key("a")], json!(["z"])).unwrap_err();
        assert!(error.to_string().contains("the comments in a would be lost"), "{error}");
    }
}

#[test]
fn a_list_in_brackets_keeps_its_lines_and_comments() {
    for (text, expected) in [
        ("a: [\n  x,\n  y\n]\n", "a: [\n  x,\n  y,\n  \"z\"\n]\n"),
        ("a: [\n  x, # one\n  y # two\n]\n", "a: [\n  x, # one\n  y, # two\n  \"z\"\n]\n"),
        ("a: [\n  x,\n]\n", "a: [\n  x,\n  \"z\",\n]\n"),
        ("a: [x # why\n]\n", "a: [x, \"z\" # why\n]\n"),
        ("a: [ x ]\n", "a: [ x, \"z\" ]\n"),
        ("a: []\n", "a: [\"z\"]\n"),
    ] {
        assert_eq!(append(text, &[key("a")], json!("z")).unwrap(), expected);
    }
}

#[test]
fn a_list_or_map_behind_a_tag_or_a_comment_is_not_added_to() {
    for text in [
        "a: &b # c\n  - x\n",
        "a: &b # c\n  [x]\n",
        "a: &b # c\n  ! [x]\n",
        "a: ! [x]\n",
        "a: &b !!seq [x]\n",
        "a: !!seq\n  - x\n",
    ] {
        let error = append(text, &[key("a")], json!("z")).unwrap_err();
        assert!(matches!(error, EditError::Notation(_)), "{text}: {error}");
    }
    for text in ["a: &b # c\n  x: 1\n", "a: ! {x: 1}\n", "a: !!map &c {x: 1}\n", "a: !!map\n  x: 1\n"] {
        let error = set(text, &[key("a"), key("y")], json!("z")).unwrap_err();
        assert!(matches!(error, EditError::Notation(_)), "{text}: {error}");
    }
    assert_eq!(set("a: !!str x\n", &[key("a")], json!("z")).unwrap(), "a: \"z\"\n");
}

#[test]
fn an_empty_yaml_value_is_set() {
    let text = "a:\n  Volumes:\n  b: 1\n";
    let edited = set(text, &[key("a"), key("Volumes")], json!([{ "name": "x" }])).unwrap();
    assert_eq!(edited.trim_end(), "a:\n  Volumes: [{\"name\":\"x\"}]\n  b: 1");
}

#[test]
fn many_resources_of_a_template_are_fixed() {
    let resource = |index: usize| {
        let body = "    Type: AWS::ECS::TaskDefinition\n    Properties:\n      Family: web\n      NetworkMode: bridge # why?\n      ContainerDefinitions:\n        - Name: a\n          Image: a\n          DependsOn: [{ ContainerName: a, Condition: START }]\n";
        format!("  Task{index}:\n{}", body.replace("web", &format!("web{index}")))
    };
    let text = format!("Resources:\n{}# end\n", (0..8).map(resource).collect::<String>());
    let edits: Vec<Edit> = (0..8)
        .map(|index| {
            let task = key(&format!("Task{index}"));
            edit(&[key("Resources"), task, key("Properties"), key("NetworkMode")], Change::Set(json!("awsvpc")))
        })
        .collect();
    assert_eq!(apply(&text, Language::JsonOrYaml, &edits).unwrap(), text.replace("bridge", "awsvpc"));
}
