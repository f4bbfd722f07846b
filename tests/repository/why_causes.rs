//! The page docs/reference/commands/why.md explains each cause that `ecs-mesh why` names, as its schema has them.

use std::collections::BTreeSet;

use serde_json::Value;

const PAGE: &str = include_str!("../../docs/reference/commands/why.md");
const SCHEMA: &str = include_str!("../../docs/reference/schema/why.schema.json");

#[test]
fn the_page_explains_every_cause() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("JSON");
    let causes = schema["$defs"]["WhyCause"]["oneOf"].as_array().expect("the causes").iter();
    let in_schema: BTreeSet<&str> = causes.map(|cause| cause["const"].as_str().expect("a name")).collect();
    let (_, table) = PAGE.split_once("| cause | what it is |\n").expect("the table");
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let mut on_page: BTreeSet<&str> =
        rows.filter_map(|row| row.split('|').nth(1)).flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    // It says nothing but this word.
    on_page.insert("healthy");
    assert_eq!(on_page, in_schema);
}
