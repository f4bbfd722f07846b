//! Every correct definition with every single defect: exactly the expected findings.
//!
//! The tables follow the documentation of Consul on ECS and of App Mesh, not the rules: a rule that misses a defect, or
//! that reports another rule's, fails here.

mod api;
mod app_mesh;
mod client;
mod control_plane;
mod controller;
mod dataplane;
mod ecs;
mod every_mesh_task;
mod exports;
mod gateways;
mod harmless;
mod pairs;
mod settings;
mod start;
mod tables;

use std::{iter, sync::LazyLock};

use audit::{finding::Finding, severity::Severity};
use serde_json::{Value, json};

use self::tables::Mutation;
use crate::{
    example::Base,
    reading::{findings, ids, shown},
};

type Mutations = LazyLock<Vec<(Base, Mutation)>>;

static BY_SUBJECT: Mutations = LazyLock::new(|| {
    let tables = [
        every_mesh_task::TABLE,
        client::TABLE,
        dataplane::TABLE,
        control_plane::TABLE,
        controller::TABLE,
        gateways::TABLE,
        app_mesh::TABLE,
        exports::TABLE,
        ecs::TABLE,
        api::TABLE,
        settings::TABLE,
        harmless::TABLE,
        start::TABLE,
    ];
    tables.into_iter().flat_map(tables::read).collect()
});

static PAIRS: Mutations = LazyLock::new(|| tables::read(pairs::TABLE));

/// Every mutation of every base, with the expected findings.
pub(crate) fn mutations() -> impl Iterator<Item = (Base, &'static Mutation)> {
    iter::chain(BY_SUBJECT.iter(), PAIRS.iter()).map(|(base, mutation)| (*base, mutation))
}

/// The mutations whose definition is correct without the defect.
pub(crate) fn pairs() -> impl Iterator<Item = (Base, &'static Mutation)> {
    PAIRS.iter().map(|(base, mutation)| (*base, mutation))
}

#[test]
fn every_mutation_has_the_expected_findings() {
    let mut unexpected = Vec::new();
    for (base, mutation) in mutations() {
        let found = findings(&mutation.broken(base));
        if ids(&found) != mutation.finds() {
            let expected = mutation.finds();
            unexpected.push(format!(
                "{base:?} {}\n  expected {expected:?}\n  found {:#?}",
                mutation.label(),
                shown(&found)
            ));
        }
    }
    assert!(unexpected.is_empty(), "{} unexpected:\n{}", unexpected.len(), unexpected.join("\n"));
}

#[test]
fn a_pair_has_no_finding_without_its_defect() {
    for (base, mutation) in pairs() {
        assert_eq!(shown(&findings(&mutation.repaired(base))), [""; 0], "{base:?} {}", mutation.label());
    }
}

#[test]
fn mutations_are_unique() {
    let mut labels: Vec<String> =
        mutations().map(|(base, mutation)| format!("{base:?} {}", mutation.label())).collect();
    labels.sort_unstable();
    let repeated: Vec<&str> =
        labels.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0].as_str()).collect();
    assert_eq!(repeated, [""; 0]);
    assert!(labels.len() > 400, "{}", labels.len());
}

/// The value of a variable in every container.
const CANARY: &str = "cAnArY-7f3a";

fn with_secrets(mut definition: Value) -> Value {
    for container in definition.get_mut("containerDefinitions").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(variables) = container.get_mut("environment").and_then(Value::as_array_mut) {
            variables.push(json!({ "name": "DB_PASSWORD", "value": CANARY }));
        }
    }
    definition
}

#[test]
fn every_finding_has_a_line_and_help_and_no_secret() {
    for (base, mutation) in mutations() {
        for Finding { rule, file, span, message, help, notes, subject, .. } in
            findings(&with_secrets(mutation.broken(base)))
        {
            assert!(file.text.get(span.start..span.end).is_some_and(|text| !text.is_empty()), "{}", rule.id);
            assert!(!message.is_empty() && !help.is_empty(), "{}", rule.id);
            assert!(rule.texts().severity >= Severity::Info);
            assert!(notes.iter().all(|note| file.text.get(note.span.start..note.span.end).is_some()), "{}", rule.id);
            let texts = notes.iter().map(|note| &note.text).chain([&message, &help, &subject]);
            let leaks: Vec<&String> = texts.filter(|text| text.contains(CANARY)).collect();
            assert!(leaks.is_empty(), "{}: {leaks:?}", rule.id);
        }
    }
}
