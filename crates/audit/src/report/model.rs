//! A report as data.

use std::collections::BTreeSet;

use super::{
    excerpt::Excerpt,
    page::{link, page},
    threshold::Threshold,
};
use crate::{finding::Severity, ignore::IgnoredBy, rule::Rule, timeline::Timeline};
use audit_read::{document::Position, input::InputProblem};

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
    pub counts: Counts,
}

/// The numbers of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
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
#[derive(Debug)]
pub struct Reported {
    pub rule: &'static Rule,
    pub severity: Severity,
    pub file: String,
    /// The first character of the defect.
    pub start: Position,
    /// The character after the last one of the defect.
    pub end: Position,
    /// The task definition or resource.
    pub subject: String,
    pub container: Option<String>,
    /// What is wrong.
    pub message: String,
    /// How to correct it.
    pub help: String,
    /// Other relevant places.
    pub notes: Vec<ReportedNote>,
    /// Whether `ecs-mesh fix` can fix it.
    pub is_fixable: bool,
    /// The keys that lead to the defect in the file.
    pub path: String,
    /// An ID that stays the same if the finding moves within its file or its message is reworded.
    pub fingerprint: String,
    /// What ignores it, and the reason.
    pub ignored: Option<(IgnoredBy, String)>,
    /// The lines of the file.
    pub excerpt: Excerpt,
}

/// Another relevant place.
#[derive(Debug)]
pub struct ReportedNote {
    /// Why it is relevant.
    pub text: String,
    /// Its first character.
    pub start: Position,
    /// The character after its last one.
    pub end: Position,
}

/// A task definition that was checked.
#[derive(Debug)]
pub struct Definition {
    /// Its name in findings.
    pub label: String,
    pub file: String,
    /// Its name in the file.
    pub address: String,
    /// The path of its construct, if the AWS CDK has synthesised the file.
    pub construct: Option<String>,
    /// Its position in the file.
    pub position: Position,
    /// Its mesh, as users read it.
    pub mesh: &'static str,
    pub containers: Vec<String>,
    /// The order in which its containers start and stop.
    pub timeline: Timeline,
}

impl Report {
    /// The definitions without findings.
    pub fn clean_definitions(&self) -> impl Iterator<Item = &Definition> {
        let found: BTreeSet<(&str, &str)> = self.findings.iter().map(Reported::group).collect();
        self.definitions.iter().filter(move |definition| !found.contains(&definition.group()))
    }

    /// Whether there are findings that fail the run.
    pub fn fails(&self) -> bool {
        self.findings.iter().any(|finding| self.threshold.includes(finding.severity))
    }
}

impl Reported {
    /// The task definition or resource, and the container in it.
    pub fn subject_and_container(&self) -> String {
        match &self.container {
            Some(container) => format!("{}, container {container}", self.subject),
            None => self.subject.clone(),
        }
    }

    /// The file, and the definition or resource in it.
    pub fn group(&self) -> (&str, &str) {
        (&self.file, &self.subject)
    }

    /// The page about its rule.
    pub fn page(&self) -> String {
        page(self.rule)
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

impl Definition {
    /// The group of its findings.
    pub fn group(&self) -> (&str, &str) {
        (&self.file, &self.label)
    }
}
