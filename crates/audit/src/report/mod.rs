//! What an audit has to say, in every format.

mod build;
mod excerpt;
mod format;
mod github;
mod html;
mod json;
mod junit;
mod lines;
mod markdown;
mod sarif;
mod secret;
mod secret_span;
mod summary;
mod text;

use std::collections::BTreeSet;

pub use self::build::clean;
pub use self::format::Format;
use super::{
    document::Position, finding::Severity, ignore::IgnoredBy, input::InputProblem, rule::Rule, timeline::Timeline,
};
use excerpt::Excerpt;

/// Where the rules' pages are, as links have it: in this repository, unless the build says where they are published.
pub const DOCS: &str = match option_env!("MESH_AUDIT_DOCS") {
    Some(address) => address,
    None => "docs/rules",
};

/// The page about a rule.
#[must_use]
pub fn page(rule: &Rule) -> String {
    format!("{DOCS}/{}.md", rule.id)
}

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

/// From which severity on findings fail a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threshold {
    /// From this one on.
    From(Severity),
    /// No finding does.
    Never,
}

impl Threshold {
    /// Every one, by name.
    pub const NAMES: [&'static str; 4] = ["error", "warning", "info", "never"];

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "error" => Some(Self::From(Severity::Error)),
            "warning" => Some(Self::From(Severity::Warning)),
            "info" => Some(Self::From(Severity::Info)),
            "never" => Some(Self::Never),
            _ => None,
        }
    }

    /// The one that somebody asked for, if they did; errors otherwise.
    #[must_use]
    pub fn wanted(name: Option<&str>) -> Self {
        name.and_then(Self::named).unwrap_or(Self::From(Severity::Error))
    }

    /// Whether findings of `severity` fail the run.
    #[must_use]
    pub fn includes(self, severity: Severity) -> bool {
        matches!(self, Self::From(lowest) if severity >= lowest)
    }
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

/// A report that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("the report could not be written as {format}: {reason}")]
pub struct RenderError {
    format: &'static str,
    reason: String,
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

    /// The report as `format` has it; with colours for a terminal, where the format knows colours.
    ///
    /// # Errors
    /// The format has no way to say something.
    pub fn render(&self, format: Format, in_colour: bool) -> Result<String, RenderError> {
        let rendered = match format {
            Format::Text => Ok(text::render(self, in_colour)),
            Format::Json => json::render(self),
            Format::Sarif => sarif::render(self),
            Format::Junit => junit::render(self),
            Format::Github => Ok(github::render(self)),
            Format::Markdown => Ok(markdown::render(self)),
            Format::Html => html::render(self),
        };
        rendered.map_err(|reason| RenderError { format: format.as_str(), reason })
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
