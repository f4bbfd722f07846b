//! The sources of what is shipped, for tests of what they must not say.

use std::{fs, path::Path};

use local_stack::in_repository;

/// The folders of what is shipped.
const FOLDERS: [&str; 3] = ["src", "crates/audit/src", "crates/mesh/src"];

/// Every source file below them, by its path in the repository, in order.
pub fn sources() -> Vec<String> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        walk(folder, &mut found);
    }
    found.sort();
    found
}

fn walk(folder: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(in_repository(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            walk(&path, found);
        } else if Path::new(&path).extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}
