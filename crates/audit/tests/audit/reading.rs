//! Reads texts and returns findings.

use std::{path::Path, sync::Arc};

use audit::{
    audit,
    finding::Finding,
    fix::{Repair, repair},
    ignore::{self, Config},
    report::Report,
    severity::Threshold,
};
use audit_read::{
    Material,
    input::{Gathered, read_source},
};
use document::SourceFile;
use serde_json::Value;
use terraform::Tree;

/// Reported for every definition or mesh of App Mesh.
pub(crate) const END_OF_APP_MESH: [&str; 2] = ["appmesh-end-of-service", "appmesh-mesh-end-of-service"];

/// Reported for every definition with releases that are no longer the newest ones. These rules have tests of their own.
const OLD_RELEASES: [&str; 2] = ["consul-end-of-support", "consul-release-defect"];

/// The findings of a text, without those about the end of App Mesh and about old releases.
pub(crate) fn findings_in(name: &str, text: &str) -> Vec<Finding> {
    let mut findings = all_findings_in(name, text);
    findings.retain(|finding| !is_of_every_definition(finding.rule.id));
    findings
}

/// The findings of a text.
pub(crate) fn all_findings_in(name: &str, text: &str) -> Vec<Finding> {
    let mut material = Material::default();
    let read = read_source(Arc::new(SourceFile::new(name, text)), true, &mut material);
    read.unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    audit(&material)
}

/// Whether a rule is about the end of App Mesh, or about old releases.
pub(crate) fn is_of_every_definition(rule: &str) -> bool {
    END_OF_APP_MESH.contains(&rule) || OLD_RELEASES.contains(&rule)
}

/// The findings of a definition, or of a list of exports.
pub(crate) fn findings(json: &Value) -> Vec<Finding> {
    findings_in("task.json", &serde_json::to_string_pretty(json).unwrap())
}

/// The report of what was read, with an empty configuration.
pub(crate) fn report_of(gathered: &Gathered) -> Report {
    let config = Config::read(SourceFile::new("ecs-mesh.toml", ""), Path::new("/run")).unwrap();
    let sorted = ignore::sort(audit(&gathered.material), &gathered.material, &config, Path::new("/run"));
    Report::new(gathered, &sorted, Threshold::Error)
}

/// A text after all its fixes.
pub(crate) fn repaired(name: &str, text: &str) -> Repair {
    repair(Arc::new(SourceFile::new(name, text)), &Tree::default(), |_| true)
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
