//! The pages have one spelling, British.

use std::{fs, path::Path};

/// Beginnings of American spellings of words that the pages use, or might.
const AMERICAN: [&str; 17] = [
    "analyz",
    "artifact",
    "behavior",
    "canceled",
    "canceling",
    "center",
    "color",
    "defense",
    "favor",
    "gray",
    "honor",
    "labeled",
    "labor",
    "license",
    "modeled",
    "neighbor",
    "traveled",
];
/// Ends of words that British English writes with an s.
const ENDS: [&str; 8] = ["ize", "ized", "izer", "izes", "izing", "ization", "izations", "izers"];
/// What ends so in British English, too.
const SIZES: [&str; 6] = ["oversize", "prize", "resize", "seize", "size", "undersize"];

fn pages(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
}

/// The text without code, addresses and the targets of links.
fn prose(page: &str) -> String {
    let blocks = page.split("```").step_by(2).collect::<String>();
    let text = blocks.split('`').step_by(2).collect::<String>();
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    let text = parts.fold(first, |text, part| text + part.split_once(')').map_or("", |(_, after)| after));
    let words = text.split_whitespace().filter(|word| !word.contains("://"));
    words.collect::<Vec<_>>().join(" ").replace("Apache License", "")
}

fn is_american(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let stem = word.trim_end_matches(['d', 's', 'r']);
    let is_size = SIZES.iter().any(|size| stem == *size || stem == format!("{}ing", size.trim_end_matches('e')));
    let ends = word.len() > 5 && ENDS.iter().any(|end| word.ends_with(end)) && !is_size;
    ends || ["afterward", "toward"].contains(&word.as_str()) || AMERICAN.iter().any(|start| word.starts_with(start))
}

fn american(page: &str) -> Vec<String> {
    let prose = prose(page);
    let words = prose.split(|c: char| !c.is_ascii_alphabetic());
    words.filter(|word| is_american(word)).map(str::to_owned).collect()
}

#[test]
fn the_pages_are_in_british_english() {
    let mut found = Vec::new();
    for folder in ["docs", "deploy", "examples"] {
        pages(Path::new(folder), &mut found);
    }
    for file in [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "tests/CALLS.md",
        "tests/EVIDENCE.md",
        "tests/PATH.md",
    ] {
        found.push((file.to_owned(), fs::read_to_string(file).unwrap()));
    }
    assert!(found.len() > 50, "{}", found.len());
    let wrong = found.iter().map(|(name, page)| (name, american(page))).filter(|(_, words)| !words.is_empty());
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn american_spelling_is_found_in_prose_only() {
    let page = "It recognizes a colour, toward a [license](a/license.md) of `color` and https://a/behavior.\n\
                ```sh\ncenter\n```\nA resized prize of some size. Apache License. Authorization, behavior.";
    assert_eq!(american(page), ["recognizes", "toward", "license", "Authorization", "behavior"]);
}
