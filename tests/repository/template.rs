//! The template agrees with the crates: the version, the values of a setting, and the parameters that update the mesh setup.

use std::collections::BTreeSet;

const TEMPLATE: &str = include_str!("../../template.yaml");

/// The parameters without an effect on Consul: the log level, which events are sent, and a resource of the template.
const WITHOUT_EFFECT: [&str; 3] = ["LogLevel", "RoutineEvents", "TaskEventsQueue"];

/// The lines below `heading`, up to the next line that is not indented further.
fn section(heading: &str) -> String {
    let mut lines = TEMPLATE.lines().skip_while(|line| *line != heading);
    let indent = |line: &str| line.len() - line.trim_start().len();
    let depth = indent(lines.next().unwrap_or_else(|| panic!("{heading} is not in the template")));
    lines.take_while(|line| line.is_empty() || indent(line) > depth).collect::<Vec<_>>().join("\n")
}

/// The references of a section: `!Ref`, and `${…}` within a text.
fn references(section: &str) -> BTreeSet<&str> {
    let name = |rest| str::split(rest, |c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let after = |mark| section.split(mark).skip(1).map(name);
    after("!Ref ").chain(after("${")).filter(|name| *name != "AWS").collect()
}

#[test]
fn a_new_release_updates_the_mesh_setup() {
    let property = format!("ControllerVersion: \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(section("  MeshSetup:").contains(&property), "MeshSetup should have {property}");
}

#[test]
fn a_changed_parameter_updates_the_mesh_setup() {
    let globals = section("Globals:");
    let reconcile = section("  ReconcileFunction:");
    let (_, environment) = reconcile.split_once("Environment:").expect("an environment");
    let given: BTreeSet<&str> = references(&globals).into_iter().chain(references(environment)).collect();
    let setup = section("  MeshSetup:");
    let watched = references(&setup);
    let missing: Vec<&str> = given.difference(&watched).copied().collect();
    assert_eq!(missing, WITHOUT_EFFECT);
}

/// The number after `key:` in a section.
fn number(section: &str, key: &str) -> u32 {
    let key = format!("{key}: ");
    let line = section.lines().find_map(|line| line.trim().strip_prefix(key.as_str()));
    line.unwrap_or_else(|| panic!("{key} is not in the section")).parse().expect("a number")
}

#[test]
fn message_stays_invisible_for_six_times_the_function_s_time() {
    let longest = 6 * number(&section("  TaskEventsFunction:"), "Timeout")
        + number(&section("  TaskEventsSource:"), "MaximumBatchingWindowInSeconds");
    assert!(number(&section("  TaskEventsQueue:"), "VisibilityTimeout") >= longest);
}

#[test]
fn loop_detection_is_off_where_the_function_bounds_its_own_messages() {
    assert!(section("  TaskEventsFunction:").contains("RecursiveLoop: Allow"));
    assert!(!section("  ReconcileFunction:").contains("RecursiveLoop"), "a sweep receives no message of its own");
}
