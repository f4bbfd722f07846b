//! Texts in, findings out.

use std::sync::Arc;

use audit::{Material, audit, finding::Finding, input::read_source, source::SourceFile};
use serde_json::Value;

/// Found wherever App Mesh is: there is no way to be without.
pub(crate) const ALWAYS: [&str; 2] = ["appmesh-end-of-service", "appmesh-mesh-end-of-service"];

/// What is found in a text, the end of App Mesh aside.
pub(crate) fn findings_in(name: &str, text: &str) -> Vec<Finding> {
    let mut material = Material::default();
    let read = read_source(Arc::new(SourceFile::new(name, text)), true, &mut material);
    read.unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    audit(&material).into_iter().filter(|finding| !ALWAYS.contains(&finding.rule.id)).collect()
}

/// What is found in a definition, or in a list of exports.
pub(crate) fn findings(json: &Value) -> Vec<Finding> {
    findings_in("task.json", &serde_json::to_string_pretty(json).unwrap())
}

/// The rules, in alphabetical order.
pub(crate) fn ids(findings: &[Finding]) -> Vec<&'static str> {
    let mut ids: Vec<&str> = findings.iter().map(|finding| finding.rule.id).collect();
    ids.sort_unstable();
    ids
}

/// For failures.
pub(crate) fn shown(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| format!("{}: {}", finding.rule.id, finding.message)).collect()
}
