//! SARIF 2.1.0: <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;
use serde_sarif::sarif::{
    ArtifactLocation, Invocation, Location, LogicalLocation, Message, MultiformatMessageString, Notification,
    PhysicalLocation, Region, ReportingConfiguration, ReportingDescriptor, Result as SarifResult, ResultLevel, Run,
    Sarif, Suppression, Tool, ToolComponent,
};

use super::{
    html::plain,
    link,
    model::{Report, Reported, ReportedCall},
    page,
};
use crate::{
    ignore::{Exception, IgnoredBy},
    rule::Rule,
    rules::rules,
};
use document::{InputProblem, Position};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
const FINGERPRINT: &str = "meshAudit/v2";
/// The characters of a path that are not encoded.
const UNENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

pub(super) fn render(report: &Report) -> Result<String, serde_json::Error> {
    let index: BTreeMap<&str, i64> = rules().map(|rule| rule.id).zip(0..).collect();
    let found = report.findings.iter().chain(&report.ignored);
    let driver = ToolComponent::builder()
        .name("ecs-mesh")
        .semantic_version(report.version)
        .rules(rules().map(descriptor).collect::<Vec<_>>())
        .build();
    let errors = report.problems.iter().map(|problem| notification(problem, "error"));
    let notes = report.unchecked.iter().map(|problem| notification(problem, "note"));
    let invocation = Invocation::builder()
        .execution_successful(report.problems.is_empty())
        .tool_execution_notifications(errors.chain(notes).collect::<Vec<_>>())
        .build();
    let run = Run::builder()
        .tool(Tool::builder().driver(driver).build())
        .column_kind("unicodeCodePoints")
        .invocations(vec![invocation])
        .results(found.map(|finding| result(finding, &index)).collect::<Vec<_>>())
        .build();
    let log = Sarif::builder().schema(SCHEMA).version("2.1.0").runs(vec![run]).build();
    Ok(serde_json::to_string_pretty(&log)? + "\n")
}

fn descriptor(rule: &'static Rule) -> ReportingDescriptor {
    let texts = rule.texts();
    let sources: Vec<String> = texts.sources.iter().map(|source| format!("- <{source}>")).collect();
    let markdown = format!(
        "{}\n\nAt run time: {}.\n\nMore: {}\n\n{}",
        texts.explanation,
        texts.effect,
        page(rule),
        sources.join("\n")
    );
    let explanation = plain(texts.explanation);
    let text = format!("{explanation} At run time: {}. More: {}", texts.effect, page(rule));
    let descriptor = ReportingDescriptor::builder()
        .id(rule.id)
        .short_description(MultiformatMessageString::builder().text(plain(texts.title)).build())
        .full_description(MultiformatMessageString::builder().text(explanation).markdown(texts.explanation).build())
        .help(MultiformatMessageString::builder().text(text).markdown(markdown).build())
        .default_configuration(
            ReportingConfiguration::builder().level(json!(texts.severity.pick(["error", "warning", "note"]))).build(),
        );
    // SARIF requires an absolute address.
    match link(rule).or_else(|| texts.sources.first().map(|&source| source.to_owned())) {
        Some(uri) => descriptor.help_uri(uri).build(),
        None => descriptor.build(),
    }
}

fn result(finding: &Reported, index: &BTreeMap<&str, i64>) -> SarifResult {
    let text = format!("{}. At run time: {}. Fix: {}.", finding.message, finding.effect, finding.help);
    let mut prints = BTreeMap::new();
    prints.insert(FINGERPRINT.to_owned(), finding.fingerprint.clone());
    let logical = std::iter::once(&finding.subject).chain(&finding.container).chain(&finding.other_containers);
    let logical = logical.map(|name| LogicalLocation::builder().name(name.as_str()).build());
    let location = Location::builder()
        .physical_location(physical(&finding.file, finding.start, finding.end))
        .logical_locations(logical.collect::<Vec<_>>())
        .build();
    let notes = finding.notes.iter().map(|note| related(physical(&finding.file, note.start, note.end), &note.text));
    let calls = finding.calls.iter().map(|ReportedCall { module, file, start, .. }| {
        related(physical(file, *start, *start), &format!("called as {module}"))
    });
    let related: Vec<Location> = notes.chain(calls).collect();
    let suppressions: Vec<Suppression> = finding.ignored.iter().map(suppression).collect();
    SarifResult::builder()
        .rule_id(finding.rule.id)
        .rule_index(index.get(finding.rule.id).copied().unwrap_or(-1))
        .level(finding.severity.pick([ResultLevel::Error, ResultLevel::Warning, ResultLevel::Note]))
        .message(Message::builder().text(text).build())
        .locations(vec![location])
        .related_locations(related)
        .partial_fingerprints(prints)
        .suppressions(suppressions)
        .build()
}

fn suppression(Exception { by, reason }: &Exception) -> Suppression {
    let kind = match by {
        IgnoredBy::Comment => "inSource",
        IgnoredBy::Configuration => "external",
    };
    Suppression::builder().kind(kind).justification(reason.as_str()).build()
}

fn related(place: PhysicalLocation, text: &str) -> Location {
    Location::builder().physical_location(place).message(Message::builder().text(text).build()).build()
}

fn physical(file: &str, start: Position, end: Position) -> PhysicalLocation {
    let region = Region::builder()
        .start_line(number(start.line))
        .start_column(number(start.column))
        .end_line(number(end.line))
        .end_column(number(end.column))
        .build();
    PhysicalLocation::builder().artifact_location(artifact(file)).region(region).build()
}

fn artifact(file: &str) -> ArtifactLocation {
    let path = file.trim_start_matches("./");
    let encoded = utf8_percent_encode(path, UNENCODED).to_string();
    ArtifactLocation::builder().uri(if path.starts_with('/') { format!("file://{encoded}") } else { encoded }).build()
}

fn notification(problem: &InputProblem, level: &str) -> Notification {
    let location = match problem.position {
        Some(position) => physical(&problem.file, position, position),
        None => PhysicalLocation::builder().artifact_location(artifact(&problem.file)).build(),
    };
    Notification::builder()
        .level(level)
        .message(Message::builder().text(problem.reason.as_str()).build())
        .locations(vec![Location::builder().physical_location(location).build()])
        .build()
}

fn number(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
