//! What docs/contributing/architecture.md says of the crates.

use std::{collections::BTreeSet, fs};

use local_stack::in_repository;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::Item;
use test_harness::sources::sources;

use crate::shipped::items;

const PAGE: &str = include_str!("../../docs/contributing/architecture.md");

fn read(path: &str) -> String {
    fs::read_to_string(in_repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The crates of the workspace that ship; `src` is the root package.
fn crates() -> BTreeSet<String> {
    let name = |path: &String| path.trim_start_matches("crates/").split('/').next().map(str::to_owned);
    sources().iter().filter_map(name).collect()
}

/// What a crate depends on, outside of its tests.
fn dependencies(name: &str) -> Vec<String> {
    let manifest = read(&if name == "src" { "Cargo.toml".to_owned() } else { format!("crates/{name}/Cargo.toml") });
    let (_, rest) = manifest.split_once("\n[dependencies]\n").unwrap_or_default();
    let lines = rest.split("\n[").next().unwrap_or_default().lines();
    lines.filter_map(|line| Some(line.split(['.', ' ', '=']).next()?.to_owned())).collect()
}

/// The cells of the page's table.
fn rows() -> Vec<(String, BTreeSet<String>)> {
    let (_, table) = PAGE.split_once("| crate | uses |\n| --- | --- |\n").expect("the table");
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<BTreeSet<String>>();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').collect();
        (names(cells[1]).pop_first().expect("a crate"), names(cells[2]))
    };
    rows.map(row).collect()
}

#[test]
fn crates_use_only_what_this_page_says() {
    let (rows, crates) = (rows(), crates());
    assert_eq!(rows.iter().map(|(name, _)| name.clone()).collect::<BTreeSet<_>>(), crates);
    for (at, (name, uses)) in rows.iter().enumerate() {
        let used = dependencies(name).into_iter().filter(|it| crates.contains(it));
        assert_eq!(used.collect::<BTreeSet<_>>(), *uses, "{name}");
        let below: Vec<&str> = rows.iter().skip(at).map(|(name, _)| name.as_str()).collect();
        assert!(uses.iter().all(|used| below.contains(&used.as_str())), "{name} uses a crate above it");
    }
}

/// The shipped sources of a crate whose code contains such an identifier, outside of tests; imports count.
fn with_identifier(crate_name: &str, is_it: impl Fn(&str) -> bool) -> BTreeSet<String> {
    with(crate_name, |items| items.iter().any(|item| has_identifier(item.to_token_stream(), &is_it)))
}

fn has_identifier(code: TokenStream, is_it: &impl Fn(&str) -> bool) -> bool {
    code.into_iter().any(|token| match token {
        TokenTree::Ident(identifier) => is_it(&identifier.to_string()),
        TokenTree::Group(group) => has_identifier(group.stream(), is_it),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// The shipped sources of a crate with such items, outside of tests.
fn with(crate_name: &str, is_it: impl Fn(&[Item]) -> bool) -> BTreeSet<String> {
    let folder = format!("crates/{crate_name}/src/");
    let all = sources();
    let found = all.iter().filter(|path| path.starts_with(&folder)).filter(|path| is_it(&items(path, &read(path))));
    found.filter_map(|path| path.strip_prefix(&folder)).map(str::to_owned).collect()
}

#[test]
fn only_what_applies_a_plan_can_write() {
    // The traits that write, the structs that hold them, and the one write of a client without a trait.
    let writes = |name: &str| name.ends_with("Writes") || ["Edges", "writes", "start_redrive"].contains(&name);
    assert_eq!(with_identifier("observe", writes), BTreeSet::new());
    assert_eq!(with_identifier("diagnosis", writes), BTreeSet::new());
    let declared = ["edges.rs", "without_writes.rs"];
    // Who connects them: `Controller::new` gives each of the others its part.
    let connects = ["lib.rs", "context.rs"];
    let applies = [
        "apply/catalog.rs",
        "apply/mod.rs",
        "bootstrap/mod.rs",
        "bootstrap/upsert.rs",
        "tokens/attempt.rs",
        "tokens/mod.rs",
        "tokens/steps.rs",
    ];
    let all = declared.into_iter().chain(connects).chain(applies).map(str::to_owned);
    assert_eq!(with_identifier("controller", writes), all.collect());
    // The command line plans with what has nothing that writes; it returns messages to their queue.
    assert_eq!(with_identifier("cli", writes), BTreeSet::from(["redrive.rs".to_owned()]));
    assert_eq!(with_identifier("cli", |name| name == "Controller"), BTreeSet::new());
}

/// No crate of these uses a library whose name begins with one of these words.
#[track_caller]
fn assert_without(crates: &[&str], libraries: &[&str]) {
    for name in crates {
        let used = dependencies(name);
        let found = used.iter().find(|used| libraries.iter().any(|library| used.starts_with(library)));
        assert_eq!(found, None, "{name}");
    }
}

#[test]
fn mesh_has_no_input_no_output_and_no_clock() {
    assert_without(&["mesh"], &["tokio", "reqwest", "aws-", "futures", "tracing"]);
    let calls = [":: now (", "std :: fs", "std :: net :: Tcp", "std :: env", "SystemTime", "Instant ::", "println !"];
    let has_call = |code: &str| calls.iter().any(|call| code.contains(call));
    let found = with("mesh", |items| items.iter().any(|item| has_call(&item.to_token_stream().to_string())));
    assert_eq!(found, BTreeSet::new());
}

#[test]
fn diagnosis_and_the_auditor_have_no_client() {
    let crates = ["diagnosis", "audit", "audit-read", "terraform", "document"];
    assert_without(&crates, &["aws", "consul", "reqwest", "http-client", "tokio"]);
    // What reads in `observe`; `diagnosis` has only its values.
    let reads = [
        "Inspector",
        "InstallationReader",
        "Observer",
        "PathReader",
        "read_history",
        "read_network",
        "read_targets",
        "select_clusters",
        "async",
    ];
    assert_eq!(with_identifier("diagnosis", |name| reads.contains(&name)), BTreeSet::new());
}
