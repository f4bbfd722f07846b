//! What the rules report, what they do not report, and what their fixes do.

use std::sync::Arc;

use audit_read::{Material, definition::TaskDefinition, input::ecs_definition};
use document::{Route, SourceFile, parse_json};

mod examples;
mod fixes;
mod releases;
mod schema;
mod secrecy;

/// The definition in a text.
pub(crate) fn definition(json: &str) -> TaskDefinition {
    let file = Arc::new(SourceFile::new("task.json", json));
    let node = parse_json(&file.text, &Route::default()).unwrap();
    ecs_definition(file, &node).0.unwrap()
}

/// The definition in a text, as the only one of a run.
pub(crate) fn material(json: &str) -> Material {
    Material { definitions: vec![definition(json)], ..Material::default() }
}

/// A value that looks like a secret.
const CANARY: &str = "e95b599e-166e-7d80-08ad-aee76e7ddf19";
