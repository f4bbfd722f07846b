//! A report as data.

use std::{collections::BTreeSet, fmt};

use serde::{Serialize, Serializer};
use serde_json::json;

use super::{Excerpt, link, page};
use crate::{
    ignore::Exception,
    rule::{Applies, Rule},
    severity::{Severity, Threshold},
    timeline::Timeline,
};
use document::{InputProblem, Position};

/// The result of an audit. Its texts contain no control characters and no secrets of the definitions.
#[derive(Debug)]
pub struct Report {
    /// The version of the auditor.
    pub version: &'static str,
    /// The lowest severity that fails the run.
    pub threshold: Threshold,
    /// Whether the formats with a line for each finding end with the summary.
    pub has_summary: bool,
    /// The findings that count.
    pub findings: Vec<Reported>,
    /// The ignored findings.
    pub ignored: Vec<Reported>,
    /// The input that could not be read.
    pub problems: Vec<InputProblem>,
    /// The input that could not be checked, or not all of it.
    pub unchecked: Vec<InputProblem>,
    /// The task definitions that were checked.
    pub definitions: Vec<Definition>,
    /// The numbers of all of these.
    pub counts: FindingCounts,
}

/// The numbers of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingCounts {
    /// Findings of severity error.
    pub errors: usize,
    /// Findings of severity warning.
    pub warnings: usize,
    /// Findings of severity info.
    pub infos: usize,
    /// Ignored findings.
    pub ignored: usize,
    /// Task definitions.
    pub definitions: usize,
    /// Task definitions with findings that count.
    pub definitions_with_findings: usize,
    /// Resources of App Mesh.
    pub resources: usize,
    /// Files that were read.
    pub files: usize,
    /// Problems with the input.
    pub problems: usize,
}

/// A finding as reports show it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reported {
    #[serde(flatten, serialize_with = "rule_fields")]
    pub rule: &'static Rule,
    /// What it causes at run time.
    pub effect: String,
    pub severity: Severity,
    pub file: String,
    /// The file of the task definition or resource.
    #[serde(skip)]
    pub home: String,
    /// The first character of the defect.
    pub start: Position,
    /// The character after the last one of the defect.
    pub end: Position,
    /// The task definition or resource; the file, if the finding is about neither.
    #[serde(rename = "definition")]
    pub subject: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The other containers in which the defect is, because they share its place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_containers: Vec<String>,
    /// The other task definitions in which the defect is, because they share its block or module.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub also_in: BTreeSet<String>,
    /// The calls of the Terraform module with the defect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ReportedCall>,
    /// What is wrong.
    pub message: String,
    /// How to correct it.
    pub help: String,
    /// Other relevant places.
    pub notes: Vec<ReportedNote>,
    /// Whether `ecs-mesh fix` can fix it.
    #[serde(rename = "fixable")]
    pub is_fixable: bool,
    /// The keys that lead to the defect in the file.
    #[serde(skip)]
    pub path: String,
    /// The number among the findings of its rule in the same place, ignored ones included.
    #[serde(skip)]
    pub nth: usize,
    /// An ID that stays the same if the finding moves within its file or its message is reworded.
    pub fingerprint: String,
    /// What ignores it, and the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignored: Option<Exception>,
    /// The lines of the file.
    #[serde(skip)]
    pub excerpt: Excerpt,
}

/// A call of a Terraform module.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ReportedCall {
    /// The address of the module.
    pub module: String,
    /// The file of the call in the root module; of a plan, the plan.
    pub file: String,
    /// Where it is in that file.
    pub start: Position,
}

/// Another relevant place.
#[derive(Debug, Serialize)]
pub struct ReportedNote {
    /// Why it is relevant.
    pub text: String,
    /// Its first character.
    pub start: Position,
    /// The character after its last one.
    pub end: Position,
}

/// A task definition that was checked.
#[derive(Debug, Serialize)]
pub struct Definition {
    /// Its name in findings.
    pub label: String,
    pub file: String,
    /// Its name in the file.
    pub address: String,
    /// The path of its construct, if the AWS CDK has synthesised the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub construct: Option<String>,
    /// Its position in the file.
    #[serde(rename = "start")]
    pub position: Position,
    /// Its mesh, as users read it.
    pub mesh: String,
    pub containers: Vec<String>,
    /// The order in which its containers start and stop.
    #[serde(skip)]
    pub timeline: Timeline,
}

impl Report {
    /// The definitions without findings.
    pub fn clean_definitions(&self) -> impl Iterator<Item = &Definition> {
        let found: BTreeSet<(&str, &str)> = self.findings.iter().flat_map(Reported::groups).collect();
        self.definitions.iter().filter(move |definition| !found.contains(&definition.group()))
    }

    /// The summary as the last line of a text; empty if the report has none.
    pub fn summary_line(&self) -> String {
        if self.has_summary { self.summary() + "\n" } else { String::new() }
    }

    /// `3 errors, 1 warning in 2 of 14 task definitions (12 files)`; `and 1 App Mesh resource` if one has findings.
    pub fn summary(&self) -> String {
        let counts = self.counts;
        let found = [(counts.errors, "error"), (counts.warnings, "warning"), (counts.infos, "info")];
        let found: Vec<String> = found.iter().filter(|(n, _)| *n > 0).map(|(n, what)| counted(*n, what)).collect();
        let mut scope = vec![counted(counts.files, "file")];
        if counts.resources > 0 {
            scope.push(counted(counts.resources, "App Mesh resource"));
        }
        if counts.ignored > 0 {
            scope.push(format!("{} ignored", counted(counts.ignored, "finding")));
        }
        if counts.problems > 0 {
            scope.push(counted(counts.problems, "problem"));
        }
        if !self.unchecked.is_empty() {
            scope.push(format!("{} not fully checked", self.unchecked.len()));
        }
        let scope = scope.join(", ");
        let definitions = counted(counts.definitions, "task definition");
        if found.is_empty() {
            return format!("no findings in {definitions} ({scope})");
        }
        let resources = self.resources_with_findings();
        let mut places = Vec::new();
        if counts.definitions_with_findings > 0 || resources == 0 {
            places.push(format!("{} of {definitions}", counts.definitions_with_findings));
        }
        if resources > 0 {
            places.push(counted(resources, "App Mesh resource"));
        }
        format!("{} in {} ({scope})", found.join(", "), places.join(" and "))
    }

    /// How many resources of App Mesh have findings that count.
    fn resources_with_findings(&self) -> usize {
        let of_resources = self.findings.iter().filter(|finding| finding.rule.applies == Applies::AppMeshResources);
        of_resources.flat_map(Reported::groups).collect::<BTreeSet<_>>().len()
    }

    /// Whether there are findings that fail the run.
    pub fn fails(&self) -> bool {
        self.findings.iter().any(|finding| self.threshold.includes(finding.severity))
    }
}

impl Reported {
    /// The task definition or resource, the number of the others with the defect, and the containers.
    pub fn subject_and_container(&self) -> String {
        let noun = if self.other_containers.is_empty() { "container" } else { "containers" };
        let containers = self.containers().map(|names| format!(", {noun} {names}"));
        format!("{}{}{}", self.subject, more(self.also_in.len()), containers.unwrap_or_default())
    }

    /// The containers: `app`, `app and log`, `app, log and 3 more`.
    pub(super) fn containers(&self) -> Option<String> {
        let first = self.container.as_ref()?;
        Some(match self.other_containers.as_slice() {
            [] => first.clone(),
            [second] => format!("{first} and {second}"),
            [second, third] => format!("{first}, {second} and {third}"),
            [second, rest @ ..] => format!("{first}, {second} and {} more", rest.len()),
        })
    }

    /// The calls of its module: `module.web in prod/main.tf:12 (and 2 more)`. None of a finding in a root module.
    pub fn called_as(&self) -> Option<String> {
        let shown: Vec<String> = self.calls.iter().take(SHOWN_CALLS).map(ReportedCall::to_string).collect();
        let hidden = self.calls.len() - shown.len();
        (!shown.is_empty()).then(|| shown.join(", ") + &more(hidden))
    }

    /// The definition or resource, and its file.
    pub fn group(&self) -> (&str, &str) {
        (&self.home, &self.subject)
    }

    /// All definitions in which it is, or the resource, and their file.
    pub fn groups(&self) -> impl Iterator<Item = (&str, &str)> {
        let also_in = self.also_in.iter().map(|subject| (self.home.as_str(), subject.as_str()));
        std::iter::once(self.group()).chain(also_in)
    }

    /// The page about its rule.
    pub fn page(&self) -> String {
        page(self.rule)
    }

    /// Where more about its rule is.
    pub fn more(&self) -> String {
        let command = format!("ecs-mesh explain {}", self.rule.id);
        self.link().map_or_else(|| command.clone(), |page| format!("{command}, {page}"))
    }

    /// The page about the rule, if its address is absolute.
    pub(super) fn link(&self) -> Option<String> {
        link(self.rule)
    }

    /// Its position: `web.json:4:20`.
    pub fn place(&self) -> String {
        format!("{}:{}:{}", self.file, self.start.line, self.start.column)
    }
}

/// The number of calls that texts name.
const SHOWN_CALLS: usize = 2;

fn more(number: usize) -> String {
    if number == 0 { String::new() } else { format!(" (and {number} more)") }
}

impl fmt::Display for ReportedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}:{}", self.module, self.file, self.start.line)
    }
}

impl Definition {
    /// The group of its findings.
    pub fn group(&self) -> (&str, &str) {
        (&self.file, &self.label)
    }
}

/// Increased only if a change breaks readers.
const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct Summary {
    text: String,
    failed: bool,
    #[serde(flatten)]
    counts: FindingCounts,
}

/// The report in the auditor's own JSON: `docs/reference/schema/report.schema.json`.
pub(super) fn json(report: &Report) -> Result<String, serde_json::Error> {
    let document = json!({
        "schemaVersion": SCHEMA_VERSION,
        "tool": { "name": "ecs-mesh", "version": report.version },
        "summary": Summary { text: report.summary(), failed: report.fails(), counts: report.counts },
        "findings": report.findings,
        "ignored": report.ignored,
        "definitions": report.definitions,
        "problems": report.problems,
        "unchecked": report.unchecked,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// What JSON says of a finding's rule.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn rule_fields<S: Serializer>(rule: &&'static Rule, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Fields {
        rule: &'static str,
        page: String,
    }
    Fields { rule: rule.id, page: page(rule) }.serialize(serializer)
}

/// A number with its regular noun: `1 file`, `2 files`, `2 entries`.
pub fn counted(number: usize, noun: &str) -> String {
    match (number, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {noun}s"),
    }
}
