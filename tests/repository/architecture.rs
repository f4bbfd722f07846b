//! What docs/contributing/architecture.md says of the crates.

use std::{collections::BTreeSet, fs};

use local_stack::in_repository;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::Item;
use test_harness::sources::{NOT_SHIPPED, sources};

use crate::shipped::items;

const PAGE: &str = include_str!("../../docs/contributing/architecture.md");

fn read(path: &str) -> String {
    fs::read_to_string(in_repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The crates of the workspace that ship; `src` is the root package.
fn crates() -> BTreeSet<String> {
    let folders = fs::read_dir(in_repository("crates")).expect("crates").map(|entry| entry.expect("an entry"));
    let folders = folders.filter(|entry| entry.path().is_dir()).map(|it| it.file_name().to_string_lossy().into_owned());
    folders.filter(|name| !NOT_SHIPPED.contains(&name.as_str())).chain(["src".to_owned()]).collect()
}

/// The crates of the workspace that a crate depends on, outside of its tests.
fn used_by(name: &str) -> BTreeSet<String> {
    let manifest = read(&if name == "src" { "Cargo.toml".to_owned() } else { format!("crates/{name}/Cargo.toml") });
    let (_, rest) = manifest.split_once("\n[dependencies]\n").unwrap_or_default();
    let dependencies = rest.split("\n[").next().unwrap_or_default().lines();
    let names = dependencies.filter_map(|line| Some(line.split(['.', ' ', '=']).next()?.to_owned()));
    names.filter(|name| crates().contains(name)).collect()
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
    let rows = rows();
    assert_eq!(rows.iter().map(|(name, _)| name.clone()).collect::<BTreeSet<_>>(), crates());
    for (at, (name, uses)) in rows.iter().enumerate() {
        assert_eq!(used_by(name), *uses, "{name}");
        let below: Vec<&str> = rows.iter().skip(at).map(|(name, _)| name.as_str()).collect();
        assert!(uses.iter().all(|used| below.contains(&used.as_str())), "{name} uses a crate above it");
    }
}

#[test]
fn every_test_that_the_page_names_exists() {
    let tests: String = ["tests", "simulation", "crates"].into_iter().map(tests_in).collect();
    // A line may end within the words.
    let page = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentences: Vec<&str> = page.split("ept by ").skip(1).filter_map(|rest| rest.split(". ").next()).collect();
    assert_eq!(sentences.len(), PAGE.matches("ept by").count());
    let named = sentences.iter().flat_map(|sentence| sentence.split('`').skip(1).step_by(2));
    for name in named.filter(|name| name.contains('_')) {
        assert!(tests.contains(&format!("fn {name}()")), "no test {name}");
    }
}

/// The text of the sources below a folder.
fn tests_in(folder: &str) -> String {
    let mut text = String::new();
    let mut folders = vec![in_repository(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|it| it == "rs") {
                text += &fs::read_to_string(entry).expect("a source");
            }
        }
    }
    text
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
    let connects = ["lib.rs", "context.rs", "check.rs"];
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
}

#[test]
fn mesh_has_no_input_no_output_and_no_clock() {
    let manifest = read("crates/mesh/Cargo.toml");
    for library in ["tokio", "reqwest", "aws-", "futures", "tracing"] {
        assert!(!manifest.contains(&format!("\n{library}")), "{library}");
    }
    for call in [":: now (", "std :: fs", "std :: net :: Tcp", "std :: env", "SystemTime", "Instant ::", "println !"] {
        let contains = |items: &[Item]| items.iter().any(|item| item.to_token_stream().to_string().contains(call));
        assert_eq!(with("mesh", contains), BTreeSet::new(), "{call}");
    }
}

#[test]
fn diagnosis_and_the_auditor_have_no_client() {
    for name in ["diagnosis", "audit", "audit-read", "terraform", "document"] {
        let manifest = read(&format!("crates/{name}/Cargo.toml"));
        let (_, dependencies) = manifest.split_once("\n[dependencies]\n").expect("dependencies");
        let dependencies = dependencies.split("\n[").next().unwrap_or_default();
        for client in ["aws", "consul", "reqwest", "http-client", "tokio"] {
            assert!(!dependencies.lines().any(|line| line.starts_with(client)), "{name} has {client}");
        }
    }
    // What reads in `observe`; `diagnosis` has only its values.
    let reads = ["Inspector", "InstallationReader", "Observer", "read_history", "select_clusters", "async"];
    assert_eq!(with_identifier("diagnosis", |name| reads.contains(&name)), BTreeSet::new());
}
