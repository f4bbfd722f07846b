//! Reads texts and returns findings.

use std::sync::Arc;

use audit::{Material, audit, finding::Finding, input::read_source, source::SourceFile};
use serde_json::Value;

/// Reported for every definition or mesh of App Mesh.
pub(crate) const ALWAYS: [&str; 2] = ["appmesh-end-of-service", "appmesh-mesh-end-of-service"];

/// The findings of a text, without those about the end of App Mesh.
pub(crate) fn findings_in(name: &str, text: &str) -> Vec<Finding> {
    let mut material = Material::default();
    let read = read_source(Arc::new(SourceFile::new(name, text)), true, &mut material);
    read.unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    audit(&material).into_iter().filter(|finding| !ALWAYS.contains(&finding.rule.id)).collect()
}

/// The findings of a definition, or of a list of exports.
pub(crate) fn findings(json: &Value) -> Vec<Finding> {
    findings_in("task.json", &serde_json::to_string_pretty(json).unwrap())
}

/// The rules, in alphabetical order.
pub(crate) fn ids(findings: &[Finding]) -> Vec<&'static str> {
    let mut ids: Vec<&str> = findings.iter().map(|finding| finding.rule.id).collect();
    ids.sort_unstable();
    ids
}

/// The findings in the messages of failed tests.
pub(crate) fn shown(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| format!("{}: {}", finding.rule.id, finding.message)).collect()
}
