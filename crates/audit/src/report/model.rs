//! A report as data.

use std::collections::BTreeSet;

use super::{excerpt::Excerpt, page::page, threshold::Threshold};
use crate::{
    document::Position, finding::Severity, ignore::IgnoredBy, input::InputProblem, rule::Rule, timeline::Timeline,
};

/// What an audit has to say. All texts are free of control characters and of the secrets that the definitions hold.
#[derive(Debug)]
pub struct Report {
    /// The version of the auditor.
    pub version: &'static str,
    /// From which severity on findings fail the run.
    pub threshold: Threshold,
    /// What counts.
    pub findings: Vec<Reported>,
    /// What somebody decided to live with.
    pub ignored: Vec<Reported>,
    /// What could not be read.
    pub problems: Vec<InputProblem>,
    /// What was looked at.
    pub definitions: Vec<Definition>,
    /// How much there is of each.
    pub counts: Counts,
}

/// How much there is of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Findings of severity error.
    pub errors: usize,
    /// Findings of severity warning.
    pub warnings: usize,
    /// Findings of severity info.
    pub infos: usize,
    /// Findings that do not count.
    pub ignored: usize,
    /// Task definitions.
    pub definitions: usize,
    /// Task definitions with findings that count.
    pub definitions_with_findings: usize,
    /// Resources of App Mesh.
    pub resources: usize,
    /// Files that were read.
    pub files: usize,
    /// What could not be read.
    pub problems: usize,
}

/// A finding, ready to be shown.
#[derive(Debug)]
pub struct Reported {
    /// The rule.
    pub rule: &'static Rule,
    /// How bad it is.
    pub severity: Severity,
    /// The file.
    pub file: String,
    /// Where the offending part begins.
    pub start: Position,
    /// Where it ends: the place of the first character that is no longer part of it.
    pub end: Position,
    /// The task definition or resource.
    pub subject: String,
    /// The container.
    pub container: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
    /// Other places that matter.
    pub notes: Vec<ReportedNote>,
    /// Whether `mesh-audit fix` can mend it.
    pub is_fixable: bool,
    /// The same for the same finding, wherever in its file it stands.
    pub fingerprint: String,
    /// Who decided to live with it, and why.
    pub ignored: Option<(IgnoredBy, String)>,
    /// The lines of the file.
    pub excerpt: Excerpt,
}

/// Another place that matters.
#[derive(Debug)]
pub struct ReportedNote {
    /// Why.
    pub text: String,
    /// Where it begins.
    pub start: Position,
    /// Where it ends.
    pub end: Position,
}

/// A task definition that was looked at.
#[derive(Debug)]
pub struct Definition {
    /// What findings call it.
    pub label: String,
    /// Its file.
    pub file: String,
    /// What the file calls it.
    pub address: String,
    /// Where it is.
    pub position: Position,
    /// The mesh that it is in, in words.
    pub mesh: &'static str,
    /// Its containers.
    pub containers: Vec<String>,
    /// Its life.
    pub timeline: Timeline,
}

impl Report {
    /// The definitions that nothing was found in.
    pub fn clean_definitions(&self) -> impl Iterator<Item = &Definition> {
        let found: BTreeSet<(&str, &str)> = self.findings.iter().map(Reported::group).collect();
        self.definitions.iter().filter(move |definition| !found.contains(&definition.group()))
    }

    /// Whether findings fail the run.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.findings.iter().any(|finding| self.threshold.includes(finding.severity))
    }
}

impl Reported {
    /// What it is about: the file, and the definition or resource in it.
    #[must_use]
    pub fn group(&self) -> (&str, &str) {
        (&self.file, &self.subject)
    }

    /// The page about its rule.
    #[must_use]
    pub fn page(&self) -> String {
        page(self.rule)
    }

    /// Where it is: `web.json:4:20`.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}:{}:{}", self.file, self.start.line, self.start.column)
    }
}

impl Definition {
    /// What findings about it have as their group.
    #[must_use]
    pub fn group(&self) -> (&str, &str) {
        (&self.file, &self.label)
    }
}
