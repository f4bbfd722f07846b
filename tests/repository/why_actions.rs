//! `ecs-mesh why` has words for every action in the log that can be about a task or a service.

use std::{collections::BTreeSet, fs, path::Path};

use super::shipped::tokens;

const WORDS: &str = include_str!("../../crates/diagnosis/src/why/controller.rs");

/// The actions of lines about the whole installation, and of lines that `why` leaves out.
const OF_NO_TASK: [&str; 11] = [
    // A call of AWS, in an error
    "GetQueueAttributes",
    "bootstrap",
    "call_aws",
    "call_consul",
    "clean_up",
    "custom_resource",
    "delete_policy",
    "observe",
    "publish_events",
    "sweep",
    // `why` has words for it by its name in `log_line`
    "task_stopped",
];

/// The sources below a folder, without tests and imports.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            sources(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            found.push(tokens(&entry.display().to_string(), &fs::read_to_string(&entry).unwrap()));
        }
    }
}

/// The first text in quotes after each `start`, or all of them up to `end`.
fn quoted<'a>(source: &'a str, start: &'a str, end: &'a str) -> impl Iterator<Item = String> + 'a {
    let parts = source.split(start).skip(1).filter_map(move |rest| rest.split(end).next());
    parts.flat_map(|part| part.split('"').skip(1).step_by(2)).map(str::to_owned)
}

#[test]
fn every_action_in_the_log_has_words() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in ["src", "crates/controller/src", "crates/aws/src", "crates/consul/src", "crates/lambda/src"] {
        sources(&root.join(folder), &mut found);
    }
    let of = |source: &String| -> Vec<String> {
        let written = source.split("action = \"").skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned);
        let chosen = quoted(source, "let action = match", "} ;");
        let of_healing = quoted(source, "fn action (self) ->", "} }");
        written.chain(chosen).chain(of_healing).collect()
    };
    let actions: BTreeSet<String> = found.iter().flat_map(of).collect();
    for known in ["show_token", "empty_secret", "repair", "deregister"] {
        assert!(actions.contains(known), "{known}: {actions:?}");
    }
    let has_words =
        |action: &String| WORDS.contains(&format!("\"{action}\" => ")) || WORDS.contains(&format!("\"{action}\" |"));
    let without: Vec<&String> =
        actions.iter().filter(|it| !has_words(it) && !OF_NO_TASK.contains(&it.as_str())).collect();
    assert!(without.is_empty(), "why would show these as they are: {without:?}");
}
