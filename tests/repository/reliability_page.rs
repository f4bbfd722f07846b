//! The tests that the pages for contributors name exist.

use std::{collections::BTreeSet, fs, path::Path};

const PAGE: &str = include_str!("../../docs/contributing/evidence.md");
const DEVELOPMENT: &str = include_str!("../../docs/contributing/development.md");
const ARCHITECTURE: &str = include_str!("../../docs/contributing/architecture.md");

const CASES: &str = include_str!("../../docs/contributing/cases.md");

/// The names of all tests below a folder.
fn tests_below(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.extend(tests_in(&fs::read_to_string(&path).unwrap()));
        }
    }
}

/// The functions with a test attribute.
fn tests_in(source: &str) -> Vec<String> {
    let mut is_test = false;
    let mut names = Vec::new();
    for line in source.lines().map(str::trim_start) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if is_test && !line.starts_with("#[") && !line.starts_with("//") {
            let (_, name) = line.split_once("fn ").unwrap_or_default();
            names.extend(name.split('(').next().map(str::to_owned));
            is_test = false;
        }
    }
    names
}

/// The page's code spans that have the form of a test's name: at least three underscores.
fn named(page: &str) -> BTreeSet<&str> {
    let words = page.split('`').skip(1).step_by(2);
    let is_name = |word: &&str| {
        word.matches('_').count() >= 3
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    words.filter(is_name).collect()
}

#[test]
fn every_test_on_the_pages_exists() {
    let mut tests = BTreeSet::new();
    for folder in ["crates", "src", "testing", "tests"] {
        tests_below(Path::new(folder), &mut tests);
    }
    let pages = [(PAGE, 80), (DEVELOPMENT, 5), (ARCHITECTURE, 5)].map(|(page, least)| (named(page), least));
    assert!(pages.iter().all(|(names, least)| names.len() >= *least), "{pages:#?}");
    let missing: Vec<&&str> =
        pages.iter().flat_map(|(names, _)| names).filter(|name| !tests.contains(**name)).collect();
    assert!(missing.is_empty(), "named, but no tests: {missing:#?}");
}

#[test]
fn every_case_names_its_tests() {
    let (said, tests) = CASES.split_once("## Tests").expect("the tests");
    let numbers = |rows: &str| -> Vec<String> {
        let cells = rows.lines().filter_map(|line| line.strip_prefix("| ")?.get(..2));
        cells.filter(|cell| cell.bytes().all(|b| b.is_ascii_digit())).map(str::to_owned).collect()
    };
    assert_eq!(numbers(said).len(), 21);
    assert_eq!(numbers(said), numbers(tests));
    let named: Vec<(&str, &str)> = tests.split('`').filter_map(|span| span.split_once("::")).collect();
    assert!(named.len() > 40, "{named:?}");
    for (path, name) in named {
        let source = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(tests_in(&source).iter().any(|test| test == name), "{path} has no test {name}");
    }
}

#[test]
fn every_threat_and_failure_names_a_test() {
    let rows = PAGE.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---"));
    let (_, tables) = PAGE.split_once("### Who can do what").expect("the threats");
    let (tables, _) = tables.split_once("## How it was searched").expect("the end of the failures");
    let rows: Vec<&str> = rows.filter(|row| tables.contains(*row) && !row.contains("| tests |")).collect();
    assert!(rows.len() > 40, "{}", rows.len());
    for row in rows {
        let tests = row.trim_end_matches(" |").rsplit(" | ").next().expect("a last column");
        let is_proved = !named(tests).is_empty() || tests.contains("deny.toml") || tests.contains("above");
        assert!(is_proved, "no test in: {row}");
    }
}
