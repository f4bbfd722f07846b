//! Stacks of earlier versions can be updated: their parameters keep their values, and their outputs stay.
//!
//! `earlier_templates` has the parameters and outputs of each version: docs/contributing/release.md says how a release adds its own.

use std::{fs, path::Path};

use audit_read::document::{Node, parse_yaml};

use crate::resolved::TEMPLATE;

const PAGE: &str = include_str!("../../docs/how-to/upgrade.md");

/// Parameters that were removed.
const REMOVED: [&str; 2] = ["HealthSyncIntervalSeconds", "ReplaceBrokenTasks"];
/// Parameters that accept less than they did.
const NARROWED: [(&str, &str); 1] = [("ConsulHttpAddr", "AllowedPattern")];

/// The templates, with the names of their versions.
fn earlier_templates() -> Vec<(String, Node)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/repository/earlier_templates");
    let read = |path: &Path| {
        let version = path.file_stem().unwrap().to_string_lossy().into_owned();
        (version, parse_yaml(&fs::read_to_string(path).unwrap()).expect("YAML"))
    };
    let templates: Vec<_> = fs::read_dir(folder).unwrap().map(|file| read(&file.unwrap().path())).collect();
    assert!(!templates.is_empty());
    templates
}

#[test]
fn parameters_of_earlier_versions_accept_their_values() {
    for (version, earlier) in earlier_templates() {
        for entry in earlier.entries_of("Parameters") {
            let (name, was) = (entry.key.as_str(), &entry.node);
            let Some(is) = TEMPLATE.get("Parameters").and_then(|all| all.get(name)) else {
                assert!(REMOVED.contains(&name), "{name} of {version} is gone");
                assert!(PAGE.contains(name), "docs/how-to/upgrade.md does not name {name}");
                continue;
            };
            // A value that a stack has, and the default that it was created with
            for property in ["Type", "Default", "AllowedPattern", "MinValue", "MaxValue", "MinLength", "MaxLength"] {
                let [was, is] = [was, is].map(|node| node.get(property).map(Node::json));
                let is_known = NARROWED.contains(&(name, property)) && PAGE.contains(name);
                assert!(was == is || is_known, "{property} of {name}: {was:?} in {version}, {is:?} now");
            }
            // Without the property, all values are allowed.
            let Some(allowed) = is.get("AllowedValues").map(Node::json) else { continue };
            let values = was.get("AllowedValues").map(Node::json);
            let values = values.unwrap_or_else(|| panic!("{version} allowed all values of {name}"));
            for value in values.as_array().unwrap() {
                assert!(
                    allowed.as_array().unwrap().contains(value),
                    "{name} does not accept {value}, as {version} did"
                );
            }
        }
    }
}

#[test]
fn a_new_parameter_has_a_default() {
    for (version, earlier) in earlier_templates() {
        for entry in TEMPLATE.entries_of("Parameters") {
            let was = earlier.get("Parameters").and_then(|all| all.get(&entry.key));
            let has_default = entry.node.get("Default").is_some();
            assert!(was.is_some() || has_default, "an update from {version} has no value for {}", entry.key);
        }
    }
}

#[test]
fn outputs_of_earlier_versions_remain() {
    for (version, earlier) in earlier_templates() {
        for entry in earlier.entries_of("Outputs") {
            let is = TEMPLATE.get("Outputs").and_then(|all| all.get(&entry.key));
            let is = is.unwrap_or_else(|| panic!("the output {} of {version} is gone", entry.key));
            for property in ["Value", "Condition"] {
                let [was, is] = [&entry.node, is].map(|node| node.get(property).map(Node::json));
                assert_eq!(is, was, "{property} of the output {}, in {version}", entry.key);
            }
        }
    }
}
