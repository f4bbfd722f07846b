//! Every correct definition, broken in every single way: exactly the expected finding each time.
//!
//! The tables follow the documentation of Consul on ECS and of App Mesh sentence by sentence, not the rules: a rule that
//! misses something, or that speaks up about another's business, fails here.

mod app_mesh;
mod client;
mod control_plane;
mod dataplane;
mod ecs;
mod every_mesh_task;
mod exports;
mod gateways;
mod tables;

use audit::{
    example::Base,
    finding::{Finding, Severity},
};

pub(crate) use self::tables::{Mutation, Table, with};
use crate::reading::{findings, ids, shown};

/// All tables.
fn tables() -> impl Iterator<Item = &'static Table> {
    [
        every_mesh_task::TABLES,
        client::TABLES,
        dataplane::TABLES,
        control_plane::TABLES,
        gateways::TABLES,
        app_mesh::TABLES,
        exports::TABLES,
        ecs::TABLES,
    ]
    .into_iter()
    .flatten()
}

/// Every mutation of every base, with what has to be found.
pub(crate) fn mutations() -> impl Iterator<Item = (Base, &'static Mutation)> {
    tables().flat_map(|table| table.bases.iter().flat_map(|base| table.rows.iter().map(|row| (*base, row))))
}

#[test]
fn what_is_broken_is_found_and_nothing_else() {
    let mut surprises = Vec::new();
    for (base, mutation) in mutations() {
        let found = findings(&mutation.broken(base));
        if ids(&found) != mutation.finds() {
            let expected = mutation.finds();
            surprises.push(format!(
                "{base:?} {}\n  expected {expected:?}\n  found {:#?}",
                mutation.label(),
                shown(&found)
            ));
        }
    }
    assert!(surprises.is_empty(), "{} surprises:\n{}", surprises.len(), surprises.join("\n"));
}

#[test]
fn every_mutation_is_another_one() {
    let mut labels: Vec<String> =
        mutations().map(|(base, mutation)| format!("{base:?} {}", mutation.label())).collect();
    let count = labels.len();
    labels.sort_unstable();
    labels.dedup();
    assert_eq!(labels.len(), count);
    assert!(count > 400, "{count}");
}

#[test]
fn an_error_points_at_a_line_and_says_what_to_do() {
    for (base, mutation) in mutations() {
        for Finding { rule, file, span, message, help, .. } in findings(&mutation.broken(base)) {
            assert!(file.text.get(span.start..span.end).is_some_and(|text| !text.is_empty()), "{}", rule.id);
            assert!(!message.is_empty() && !help.is_empty(), "{}", rule.id);
            assert!(rule.severity >= Severity::Info);
        }
    }
}
