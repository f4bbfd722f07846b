//! The causes that `ecs-mesh why` names are those of docs/command-line.md and of its schema.

use std::collections::BTreeSet;

use serde_json::Value;
use syn::Item;

use super::shipped::items;

const SOURCE: &str = include_str!("../../crates/diagnosis/src/why/cause.rs");
const PAGE: &str = include_str!("../../docs/command-line.md");
const SCHEMA: &str = include_str!("../../docs/schema/why.schema.json");

/// `MeshInitFailed` as `mesh-init-failed`.
fn kebab(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

fn in_code() -> BTreeSet<String> {
    let found = items("cause.rs", SOURCE).into_iter().find_map(|item| match item {
        Item::Enum(cause) if cause.ident == "Cause" => Some(cause.variants),
        _ => None,
    });
    found.expect("the enum Cause").iter().map(|variant| kebab(&variant.ident.to_string())).collect()
}

#[test]
fn the_schema_has_every_cause() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("JSON");
    let causes = schema["properties"]["cause"]["enum"].as_array().expect("the causes").iter();
    let causes: BTreeSet<String> = causes.map(|cause| cause.as_str().expect("a text").to_owned()).collect();
    assert_eq!(causes, in_code());
}

#[test]
fn the_page_explains_every_cause() {
    let (_, table) = PAGE.split_once("| cause | what it is |\n").expect("the table");
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let mut causes: BTreeSet<String> =
        cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect();
    // It says nothing but this word.
    causes.insert("healthy".to_owned());
    assert_eq!(causes, in_code());
}
