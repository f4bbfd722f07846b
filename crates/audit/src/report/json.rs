//! The auditor's own JSON: `docs/schema/report.schema.json`.

use serde::Serialize;

use super::model::{Counts, Definition, Report, Reported};
use crate::finding::Severity;
use audit_read::{document::Position, input::InputProblem};

/// Increased only if a change breaks readers.
const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonReport<'r> {
    schema_version: u32,
    tool: Tool,
    summary: Summary,
    findings: Vec<JsonFinding<'r>>,
    ignored: Vec<JsonFinding<'r>>,
    definitions: Vec<JsonDefinition<'r>>,
    problems: Vec<JsonProblem<'r>>,
    unchecked: Vec<JsonProblem<'r>>,
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct Summary {
    text: String,
    failed: bool,
    #[serde(flatten)]
    counts: Counts,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonFinding<'r> {
    rule: &'static str,
    severity: Severity,
    message: &'r str,
    effect: &'static str,
    help: &'r str,
    file: &'r str,
    start: JsonPosition,
    end: JsonPosition,
    definition: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<&'r str>,
    notes: Vec<JsonNote<'r>>,
    fixable: bool,
    page: String,
    fingerprint: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignored: Option<JsonIgnored<'r>>,
}

#[derive(Serialize)]
struct JsonIgnored<'r> {
    by: &'static str,
    reason: &'r str,
}

#[derive(Serialize)]
struct JsonNote<'r> {
    text: &'r str,
    start: JsonPosition,
    end: JsonPosition,
}

#[derive(Serialize)]
struct JsonDefinition<'r> {
    label: &'r str,
    file: &'r str,
    address: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    construct: Option<&'r str>,
    start: JsonPosition,
    mesh: &'static str,
    containers: &'r [String],
}

#[derive(Serialize)]
struct JsonProblem<'r> {
    file: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<JsonPosition>,
    reason: &'r str,
}

#[derive(Serialize)]
struct JsonPosition {
    line: usize,
    column: usize,
}

impl From<Position> for JsonPosition {
    fn from(Position { line, column }: Position) -> Self {
        Self { line, column }
    }
}

pub(super) fn render(report: &Report) -> Result<String, serde_json::Error> {
    let document = JsonReport {
        schema_version: SCHEMA_VERSION,
        tool: Tool { name: "ecs-mesh", version: report.version },
        summary: Summary { text: report.summary(), failed: report.fails(), counts: report.counts },
        findings: report.findings.iter().map(finding).collect(),
        ignored: report.ignored.iter().map(finding).collect(),
        definitions: report.definitions.iter().map(definition).collect(),
        problems: report.problems.iter().map(problem).collect(),
        unchecked: report.unchecked.iter().map(problem).collect(),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn finding(finding: &Reported) -> JsonFinding<'_> {
    let notes =
        finding.notes.iter().map(|note| JsonNote { text: &note.text, start: note.start.into(), end: note.end.into() });
    JsonFinding {
        rule: finding.rule.id,
        severity: finding.severity,
        message: &finding.message,
        effect: finding.rule.effect,
        help: &finding.help,
        file: &finding.file,
        start: finding.start.into(),
        end: finding.end.into(),
        definition: &finding.subject,
        container: finding.container.as_deref(),
        notes: notes.collect(),
        fixable: finding.is_fixable,
        page: finding.page(),
        fingerprint: &finding.fingerprint,
        ignored: finding.ignored.as_ref().map(|(by, reason)| JsonIgnored { by: by.as_str(), reason }),
    }
}

fn definition(definition: &Definition) -> JsonDefinition<'_> {
    JsonDefinition {
        label: &definition.label,
        file: &definition.file,
        address: &definition.address,
        construct: definition.construct.as_deref(),
        start: definition.position.into(),
        mesh: definition.mesh,
        containers: &definition.containers,
    }
}

fn problem(problem: &InputProblem) -> JsonProblem<'_> {
    JsonProblem { file: &problem.file, start: problem.position.map(JsonPosition::from), reason: &problem.reason }
}
