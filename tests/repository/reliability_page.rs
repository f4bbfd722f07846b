//! The tests that the pages for contributors name exist, and each promise, threat and failure names some.

use std::{collections::BTreeSet, fs, path::Path};

const EVIDENCE: &str = include_str!("../EVIDENCE.md");
const SEARCH: &str = include_str!("../../docs/contributing/evidence.md");
const ARCHITECTURE: &str = include_str!("../../docs/contributing/architecture.md");
const PROMISES: &str = include_str!("../../docs/explanation/promises.md");
const CASES: &str = include_str!("../../docs/contributing/cases.md");
const FAILURES: &str = include_str!("../../docs/explanation/outages.md");

/// The names of all tests below a folder.
pub(crate) fn tests_below(folder: &Path, found: &mut BTreeSet<String>) {
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
pub(crate) fn named(page: &str) -> BTreeSet<&str> {
    let words = page.split('`').skip(1).step_by(2);
    let is_name = |word: &&str| {
        word.matches('_').count() >= 3
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    words.filter(is_name).collect()
}

/// The part of a page below a heading of the second level, up to the next one.
pub(crate) fn section<'p>(page: &'p str, heading: &str) -> &'p str {
    let (_, below) = page.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no {heading}"));
    below.split("\n## ").next().unwrap_or_default()
}

/// The cells of the rows of the tables in a text, without their heads.
pub(crate) fn rows(text: &str) -> Vec<Vec<&str>> {
    let mut rows = Vec::new();
    let mut is_below_head = false;
    for line in text.lines() {
        if line.starts_with("| ---") {
            is_below_head = true;
        } else if let Some(row) = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")) {
            rows.extend(is_below_head.then(|| row.split(" | ").collect()));
        } else {
            is_below_head = false;
        }
    }
    rows
}

#[test]
fn every_test_on_the_pages_exists() {
    let mut tests = BTreeSet::new();
    for folder in ["crates", "src", "testing", "tests"] {
        tests_below(Path::new(folder), &mut tests);
    }
    let pages = [(EVIDENCE, 80), (SEARCH, 5), (ARCHITECTURE, 5)];
    let pages = pages.map(|(page, least)| (named(page), least));
    assert!(pages.iter().all(|(names, least)| names.len() >= *least), "{pages:#?}");
    let missing: Vec<&&str> =
        pages.iter().flat_map(|(names, _)| names).filter(|name| !tests.contains(**name)).collect();
    assert!(missing.is_empty(), "named, but no tests: {missing:#?}");
}

#[test]
fn every_case_names_its_tests() {
    let tests = section(EVIDENCE, "## Cases from the field");
    let numbers = |rows: &str| -> Vec<String> {
        let cells = rows.lines().filter_map(|line| line.strip_prefix("| ")?.get(..2));
        cells.filter(|cell| cell.bytes().all(|b| b.is_ascii_digit())).map(str::to_owned).collect()
    };
    assert_eq!(numbers(CASES).len(), 21);
    assert_eq!(numbers(CASES), numbers(tests));
    let named: Vec<(&str, &str)> = tests.split('`').filter_map(|span| span.split_once("::")).collect();
    assert!(named.len() > 40, "{named:?}");
    for (path, name) in named {
        let source = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(tests_in(&source).iter().any(|test| test == name), "{path} has no test {name}");
    }
}

#[test]
fn every_promise_names_a_test() {
    let anchor = |heading: &str| {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -".contains(*c));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    let items: Vec<&str> = section(EVIDENCE, "## Promises").split("\n- ").collect();
    let promises: Vec<&str> = PROMISES.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert!(promises.len() > 8, "{promises:?}");
    for promise in promises {
        let link = format!("promises.md#{})", anchor(promise));
        let item = items.iter().find(|item| item.contains(&link)).unwrap_or_else(|| panic!("no {link}"));
        assert!(!named(item).is_empty(), "no test of: {promise}");
    }
}

#[test]
fn every_threat_and_failure_names_a_test() {
    let (threats, failures) = (section(EVIDENCE, "## Threat model"), section(EVIDENCE, "## Failure modes"));
    let rows = [rows(threats), rows(failures)].concat();
    assert!(rows.len() > 90, "{}", rows.len());
    for row in rows {
        let tests = row.last().expect("a last column");
        let is_proved = !named(tests).is_empty() || tests.contains("deny.toml") || tests.contains("above");
        assert!(is_proved, "no test in: {row:?}");
    }
}

#[test]
fn every_failure_that_users_read_of_has_tests() {
    let tested: BTreeSet<&str> = rows(section(EVIDENCE, "## Failure modes")).iter().map(|row| row[0]).collect();
    let described: BTreeSet<&str> = rows(section(FAILURES, "## Failure modes")).iter().map(|row| row[0]).collect();
    // Unnoticed faults have tests, and no row.
    let untested: Vec<&&str> = described.difference(&tested).collect();
    assert!(described.len() > 40 && untested.is_empty(), "{} rows, without a test: {untested:#?}", described.len());
}
