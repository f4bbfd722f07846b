//! The security review: a test for each point. What is promised, and who could break it, is in docs/reliability.md.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod environment;
#[path = "security/fairness.rs"]
mod fairness;
#[path = "security/forgery.rs"]
mod forgery;
mod function;
#[path = "security/iam.rs"]
mod iam;
#[path = "security/injection.rs"]
mod injection;
#[path = "security/leaks.rs"]
mod leaks;
#[path = "security/least_policy.rs"]
mod least_policy;
mod recorder;
#[path = "security/redaction.rs"]
mod redaction;
mod stack;
#[path = "security/tls.rs"]
mod tls;
mod world;

/// The crate's sources, by their paths, in order.
fn sources() -> Vec<String> {
    fn walk(folder: &std::path::Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path.to_string_lossy().into_owned());
            }
        }
    }
    let mut found = Vec::new();
    walk(std::path::Path::new("src"), &mut found);
    found.sort();
    found
}
