//! The page docs/reference/commands/path.md explains each place and each verdict that `ecs-mesh path` names, as its schema has them.

use serde_json::Value;

const PAGE: &str = include_str!("../../docs/reference/commands/path.md");
const SCHEMA: &str = include_str!("../../docs/reference/schema/path.schema.json");

/// The names of an enumeration of the schema, in its order.
fn named(definition: &str) -> Vec<String> {
    let schema: Value = serde_json::from_str(SCHEMA).expect("JSON");
    let names = schema["$defs"][definition]["oneOf"].as_array().expect("the names").iter();
    names.map(|name| name["const"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn the_page_has_a_section_for_every_place_in_the_order_of_the_request() {
    let (_, section) = PAGE.split_once("\n## Places\n").expect("the section");
    let section = section.split("\n## ").next().expect("its text");
    let headings: Vec<&str> = section.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    assert_eq!(headings, named("Place"));
}

#[test]
fn the_page_explains_every_verdict() {
    let (_, table) = PAGE.split_once("| verdict | meaning |\n").expect("the table");
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('`').nth(1));
    // For people, in two words.
    let on_page: Vec<String> = cells.map(|name| name.replace(' ', "-")).collect();
    assert_eq!(on_page, named("PlaceVerdict"));
}
