//! The page docs/reference/commands/path.md explains each place and each verdict that `ecs-mesh path` names, as its schema has them;
//! tests/PATH.md names the tests of each finding.

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

use crate::reliability_page::{named, rows, section, tests_below};

const FINDINGS: &str = include_str!("../PATH.md");
const PAGE: &str = include_str!("../../docs/reference/commands/path.md");
const SCHEMA: &str = include_str!("../../docs/reference/schema/path.schema.json");

/// The names of an enumeration of the schema, in its order.
fn in_schema(definition: &str) -> Vec<String> {
    let schema: Value = serde_json::from_str(SCHEMA).expect("JSON");
    let names = schema["$defs"][definition]["oneOf"].as_array().expect("the names").iter();
    names.map(|name| name["const"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn the_page_has_a_section_for_every_place_in_the_order_of_the_request() {
    let (_, section) = PAGE.split_once("\n## Places\n").expect("the section");
    let section = section.split("\n## ").next().expect("its text");
    let headings: Vec<&str> = section.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    assert_eq!(headings, in_schema("Place"));
}

#[test]
fn the_page_explains_every_verdict() {
    let (_, table) = PAGE.split_once("| verdict | meaning |\n").expect("the table");
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('`').nth(1));
    // For people, in two words.
    let on_page: Vec<String> = cells.map(|name| name.replace(' ', "-")).collect();
    assert_eq!(on_page, in_schema("PlaceVerdict"));
}

#[test]
fn every_finding_of_a_path_names_its_tests() {
    let (mut all, mut of_paths) = (BTreeSet::new(), BTreeSet::new());
    for folder in ["crates/diagnosis", "crates/observe", "tests"] {
        tests_below(Path::new(folder), &mut all);
    }
    tests_below(Path::new("crates/diagnosis/src/path/tests"), &mut of_paths);
    let rows = rows(section(FINDINGS, "## Findings"));
    let places: BTreeSet<&str> = rows.iter().filter_map(|row| row.first().copied()).collect();
    assert_eq!(places, in_schema("Place").iter().map(String::as_str).collect());
    let verdicts = in_schema("PlaceVerdict");
    for row in &rows {
        let [_, finding, verdict, found, not_found] = row.as_slice() else { panic!("{row:?}") };
        let mut words = verdict.split(", ").filter(|word| !word.starts_with("with "));
        assert!(words.all(|word| verdicts.iter().any(|known| known == word)), "{finding}: {verdict}");
        let is_same = *not_found == "the same" || not_found.starts_with("the same · ");
        assert!(!named(found).is_empty() && (is_same || !named(not_found).is_empty()), "{finding}: no tests");
    }
    let on_page = named(FINDINGS);
    let missing: Vec<&&str> = on_page.iter().filter(|name| !all.contains(**name)).collect();
    assert!(missing.is_empty(), "named, but no tests: {missing:#?}");
    let unnamed: Vec<&String> = of_paths.iter().filter(|name| !on_page.contains(name.as_str())).collect();
    assert!(unnamed.is_empty(), "not on the page: {unnamed:#?}");
}
