//! Fixes that add what a resource lacks: only the new lines differ.

use audit::fix::Repair;
use serde_json::Value;

use super::written::{Spelling, json_source};
use crate::{
    example::Base,
    folder::Folder,
    reading::{findings_in, ids, repaired},
};

/// A correct task without these fields.
fn without(fields: &[&str]) -> Value {
    let mut definition: Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
    for field in fields {
        definition.as_object_mut().unwrap().remove(*field).unwrap();
    }
    definition
}

/// A correct task in Terraform's language with these arguments before the containers.
fn resource(arguments: &str) -> String {
    let definition = without(&["networkMode", "volumes", "family", "requiresCompatibilities"]);
    let text = Spelling::literal().resource(&definition).unwrap();
    text.replacen("  container_definitions", &format!("{arguments}  container_definitions"), 1)
}

const VOLUMES: &str = "  volume {\n    name = \"consul_data\"\n  }\n  volume {\n    name = \"consul_binary\"\n  }\n";

#[test]
fn an_argument_is_added_in_the_column_of_the_others() {
    let given = format!(
        "  family                   = \"web\" # its name\n  requires_compatibilities = [\"FARGATE\"] // where\n{VOLUMES}"
    );
    let before = resource(&given);
    for ends in ["\n", "\r\n"] {
        let before = before.replace('\n', ends);
        let after = repaired("main.tf", &before).after;
        let last = "requires_compatibilities = [\"FARGATE\"] // where";
        let added = format!("{last}{ends}  network_mode             = \"awsvpc\"");
        assert_eq!(after.text, before.replace(last, &added), "{after:?}");
        assert_eq!(ids(&findings_in("main.tf", &after.text)), Vec::<&str>::new());
        assert_eq!(repaired("main.tf", &after.text).after.text, after.text);
    }
}

#[test]
fn nested_blocks_are_added_at_the_end() {
    let complete = "  family       = \"web\"\n  network_mode = \"awsvpc\"\n";
    for (given, missing) in [
        (String::new(), vec!["consul_data", "consul_binary"]),
        ("\n  volume {\n    name = \"consul_binary\"\n  }\n".to_owned(), vec!["consul_data"]),
    ] {
        let before = resource(&format!("{complete}{given}"));
        let after = repaired("main.tf", &before).after;
        assert_eq!(ids(&findings_in("main.tf", &after.text)), Vec::<&str>::new(), "{}", after.text);
        let start = before.trim_end().strip_suffix('}').unwrap();
        let added = after.text.strip_prefix(start).unwrap().strip_suffix("}\n").unwrap();
        let block = |name: &&str| format!("\n  volume {{\n    name = \"{name}\"\n  }}\n");
        let mut expected: Vec<String> = missing.iter().map(block).collect();
        let mut found: Vec<String> = added.split_inclusive("  }\n").map(str::to_owned).collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
    }
}

#[test]
fn what_dynamic_blocks_give_to_other_instances_is_not_added_to_all() {
    // Given two instances, of which one lacks a volume.
    let dynamic = "  for_each     = { a = [\"consul_data\", \"consul_binary\"], b = [\"consul_data\"] }\n  family       = each.key\n  network_mode = \"awsvpc\"\n  dynamic \"volume\" {\n    for_each = each.value\n    content {\n      name = volume.value\n    }\n  }\n";
    let before = resource(dynamic);
    assert!(ids(&findings_in("main.tf", &before)).contains(&"consul-volumes"));
    // Then no block is added to both.
    assert_eq!(repaired("main.tf", &before).after.text, before);
}

#[test]
fn dynamic_blocks_count_under_the_name_of_their_iterator() {
    let dynamic = "  network_mode = \"awsvpc\"\n  dynamic \"volume\" {\n    for_each = [\"consul_data\"]\n    iterator = one\n    content {\n      name = one.value\n    }\n  }\n";
    let before = resource(dynamic);
    let after = repaired("main.tf", &before).after;
    let start = before.trim_end().strip_suffix('}').unwrap();
    assert_eq!(after.text, format!("{start}\n  volume {{\n    name = \"consul_binary\"\n  }}\n}}\n"));
}

#[test]
fn a_null_is_replaced_but_not_an_expression_that_is_null() {
    let given = |mode: &str| resource(&format!("  family = \"web\"\n  network_mode = {mode}\n{VOLUMES}"));
    let after = repaired("main.tf", &given("null")).after;
    assert_eq!(after.text, given("\"awsvpc\""));
    let declared = given("var.mode") + "variable \"mode\" {\n  default = null\n}\n";
    assert_eq!(repaired("main.tf", &declared).after.text, declared);
}

#[test]
fn json_gets_what_it_lacks() {
    let before = json_source(&without(&["networkMode", "volumes"])).unwrap();
    let Repair { after, left, .. } = repaired("main.tf.json", &before);
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(ids(&findings_in("main.tf.json", &after.text)), Vec::<&str>::new(), "{}", after.text);
    // Nothing else changes.
    let (mut wanted, found): (Value, Value) =
        (serde_json::from_str(&before).unwrap(), serde_json::from_str(&after.text).unwrap());
    let task = &mut wanted["resource"]["aws_ecs_task_definition"]["task"];
    task["network_mode"] = "awsvpc".into();
    task["volume"] = found["resource"]["aws_ecs_task_definition"]["task"]["volume"].clone();
    assert_eq!(found, wanted);
}

#[test]
fn templates_in_json_stay_as_they_are() {
    let definition = without(&["networkMode"]);
    let before = json_source(&definition).unwrap().replacen("\"web\"", "\"web-${var.stage}\"", 1);
    let after = repaired("main.tf.json", &before).after;
    assert!(after.text.contains("\"web-${var.stage}\"") && after.text.contains("\"network_mode\": \"awsvpc\""));
}

#[test]
fn a_resource_whose_bracket_has_no_line_has_to_be_changed_by_hand() {
    let text = resource("");
    let containers = text.split("  container_definitions = ").nth(1).unwrap().trim_end().strip_suffix("\n}").unwrap();
    let before = format!("resource \"aws_ecs_task_definition\" \"task\" {{ container_definitions = {containers} }}\n");
    let Repair { after, left, .. } = repaired("main.tf", &before);
    assert_eq!(after.text, before);
    let errors: Vec<String> = left.iter().filter_map(|left| left.error.as_ref()).map(ToString::to_string).collect();
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert!(errors.iter().all(|error| error.contains("lines of their own")), "{errors:?}");
}

#[test]
fn modules_that_others_call_are_left() {
    let module = resource(&format!("  family = \"web\"\n{VOLUMES}"));
    let folder = Folder::with(&[
        ("main.tf", b"module \"web\" {\n  source = \"./web\"\n}\n"),
        ("web/main.tf", module.as_bytes()),
    ]);
    let material = audit_read::input::gather(&[folder.path("")], &mut std::io::empty()).material;
    let findings = audit::audit(&material);
    assert!(!findings.is_empty());
    assert!(findings.iter().all(|finding| finding.fix.is_none()), "{findings:?}");
}
