//! The auditor's parsers: task definitions and their fixes, JSON, YAML and `ecs-mesh.toml`.

use std::{path::Path, sync::Arc};

use audit::{
    audit, fix,
    ignore::{Config, sort},
    timeline::Timeline,
};
use audit_read::{Material, input};
use document::{Route, SourceFile, embedded_json, parse_json, parse_yaml, parse_yaml_document, yaml_documents};
use terraform::Tree;

use super::places;

const NAMES: [&str; 7] =
    ["task.json", "template.yaml", "stack.template", "plan.tfplan.json", "<stdin>", "main.tf", "main.tf.json"];

/// Reading any file with any name, applying every rule, sorting the findings, and fixing them never panics, and fixes are
/// idempotent. The first character selects the name: `0` is `task.json`.
pub fn read_source(name: usize, text: &str) {
    let name = NAMES[name % NAMES.len()];
    let mut material = Material::default();
    let file = Arc::new(SourceFile::new(name, text));
    // A problem is not a failure: the readable definitions are checked.
    if let Err(problem) = input::read_source(Arc::clone(&file), true, &mut material) {
        assert_eq!(problem.to_string().lines().count(), 1, "{problem}");
    }
    let findings = audit(&material);
    for finding in &findings {
        assert!(finding.file.text.get(finding.span.start..finding.span.end).is_some(), "{}", finding.rule.id);
    }
    for definition in &material.definitions {
        let timeline = Timeline::of(definition);
        let _ = (timeline.text(), timeline.mermaid(), timeline.svg());
    }
    let _ = sort(findings, &material, &Config::default(), Path::new("."));
    assert_fixed_once(file);
}

/// The JSON reader: every value has a span in the text.
pub fn json(text: &str) {
    if let Ok(node) = parse_json(text, &Route::default()) {
        places::check(text, &node);
    }
}

/// The YAML reader: every value has a span in the text.
pub fn yaml(text: &str) {
    if let Ok(node) = parse_yaml(text) {
        places::check(text, &node);
    }
    for document in yaml_documents(text) {
        if let Ok(node) = parse_yaml_document(text, document, &Route::default()) {
            places::check(text, &node);
        }
    }
}

/// JSON in a JSON string, as in consul-ecs's configuration.
pub fn embedded(text: &str) {
    let Ok(host) = parse_json(text, &Route::default()) else { return };
    if let Ok(node) = embedded_json(text, &host) {
        places::check(text, &node);
    }
}

/// `ecs-mesh.toml`.
pub fn configuration(text: &str) {
    if let Err(error) = Config::read(SourceFile::new("ecs-mesh.toml", text), Path::new(".")) {
        assert!(!error.to_string().is_empty());
    }
}

/// Fixes are idempotent: after a fix, nothing is left to fix.
pub fn repair(text: &str) {
    assert_fixed_once(Arc::new(SourceFile::new("file", text)));
}

fn assert_fixed_once(file: Arc<SourceFile>) {
    let repaired = fix::repair(file, &Tree::default(), |_| true);
    let again = fix::repair(repaired.after.clone(), &Tree::default(), |_| true);
    assert_eq!(repaired.after.text, again.after.text);
}
