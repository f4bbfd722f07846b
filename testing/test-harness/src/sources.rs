//! The production sources, for tests of what they must not contain.

use std::{fs, path::Path};

use local_stack::in_repository;

/// The path of every production source file in the repository, sorted. New crates are included automatically.
pub fn sources() -> Vec<String> {
    let mut found = Vec::new();
    walk("src", &mut found);
    let is_crate = |name: &String| in_repository(&format!("crates/{name}")).is_dir();
    let crates = entries("crates").into_iter().filter(is_crate);
    for folder in crates {
        walk(&format!("crates/{folder}/src"), &mut found);
    }
    found.sort();
    found
}

fn entries(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(in_repository(folder)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

fn walk(folder: &str, found: &mut Vec<String>) {
    for name in entries(folder) {
        let path = format!("{folder}/{name}");
        if in_repository(&path).is_dir() {
            walk(&path, found);
        } else if Path::new(&path).extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}
