//! No circular uses between the source files of a crate. (Cargo forbids them between crates.)

mod graph;
mod modules;

use std::{collections::BTreeMap, fs};

use self::{graph::circles, modules::Crate};

/// Source files by their path.
type Files = BTreeMap<String, String>;

#[test]
fn no_circular_uses_between_source_files() {
    let mut crates: BTreeMap<String, Files> = BTreeMap::new();
    for path in test_harness::sources::sources() {
        let (root, _) = path.split_once("src/").expect("a source folder");
        let text = fs::read_to_string(&path).unwrap();
        crates.entry(root.to_owned()).or_default().insert(path, text);
    }
    assert!(crates.len() > 8, "{:?}", crates.keys());
    let found: Vec<Vec<String>> = crates.values().flat_map(found_in).collect();
    assert_eq!(found, Vec::<Vec<String>>::new(), "files that use each other");
}

fn found_in(files: &Files) -> Vec<Vec<String>> {
    let roots = files.keys().filter(|path| path.ends_with("src/lib.rs") || path.ends_with("src/main.rs"));
    roots.flat_map(|root| circles(&Crate::read(root, files))).collect()
}

/// The circles in a crate of these files.
fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    found_in(&files.iter().map(|(path, text)| (format!("src/{path}"), (*text).to_owned())).collect())
}

#[test]
fn two_files_that_use_each_other_are_a_circle() {
    let found = circles_of(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::B; pub struct A(B);"),
        ("b.rs", "pub struct B; impl B { fn f(a: &super::a::A) {} }"),
    ]);
    assert_eq!(found, [["src/a.rs", "src/b.rs"]]);
}

#[test]
fn a_child_and_its_parent_are_a_circle() {
    let found = circles_of(&[
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod b; use self::b::B; pub struct A; fn f(_: B) {}"),
        ("a/b.rs", "pub struct B; fn f(_: super::A) {}"),
    ]);
    assert_eq!(found, [["src/a/b.rs", "src/a/mod.rs"]]);
}

#[test]
fn a_re_export_counts_for_its_definition() {
    let found = circles_of(&[
        ("lib.rs", "mod a; mod c; pub use self::{a::A, c::C};"),
        ("a/mod.rs", "mod b; pub use self::b::B; pub struct A; fn f() { crate::C::new(); }"),
        ("a/b.rs", "pub struct B;"),
        ("c.rs", "use crate::a::B; pub struct C(B);"),
    ]);
    assert_eq!(found, Vec::<Vec<String>>::new());
}

#[test]
fn tests_may_use_what_they_test() {
    let found = circles_of(&[
        ("lib.rs", "mod a;"),
        ("a.rs", "pub struct A; #[cfg(test)] mod tests; #[cfg(test)] mod more { use crate::a::A; }"),
        ("a/tests.rs", "use super::*;"),
    ]);
    assert_eq!(found, Vec::<Vec<String>>::new());
}

#[test]
fn uses_within_functions_and_macros_count() {
    for inner in ["use crate::a::A;", "let x = vec![crate::a::A];"] {
        let b = format!("pub struct B; fn f() {{ {inner} }}");
        let found =
            circles_of(&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B; pub struct A;"), ("b.rs", &b)]);
        assert_eq!(found, [["src/a.rs", "src/b.rs"]], "{inner}");
    }
}
