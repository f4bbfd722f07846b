//! Findings that do not count: a comment in the file or an entry of the configuration file ignores them.

mod baseline;
mod comment;
mod config;
mod selection;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Serialize;

use self::comment::{Directive, directives};
use crate::finding::Finding;
use audit_read::Material;
use document::{InputProblem, Position, SourceFile};

pub use self::{
    baseline::{Annotated, Baseline, NewEntry, Origin, quoted},
    config::{Config, ConfigFileError, IgnoreEntry, Level, PathPattern, config_schema},
    selection::{Selection, Selector, UnknownSelector, rules_and_groups, unknown_rule},
};

/// Findings that count, and ignored ones.
#[derive(Debug, Default)]
pub struct Sorted {
    /// The findings that count.
    pub findings: Vec<Finding>,
    /// The ignored findings.
    pub ignored: Vec<Ignored>,
    /// Comments with errors.
    pub problems: Vec<InputProblem>,
    /// Comments and entries that ignore nothing and may be removed.
    pub unused: Vec<String>,
}

/// An ignored finding.
#[derive(Debug, Clone)]
pub struct Ignored {
    pub finding: Finding,
    pub exception: Exception,
}

/// Why a finding is ignored.
#[derive(Debug, Clone, Serialize)]
pub struct Exception {
    pub by: IgnoredBy,
    pub reason: String,
}

/// What ignores a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum IgnoredBy {
    /// A comment in the file.
    Comment,
    /// The configuration file.
    Configuration,
}

impl IgnoredBy {
    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Comment => "comment",
            Self::Configuration => "configuration",
        }
    }
}

/// Sets the severities of `config`, leaves out the findings of rules that are not applied, and separates those that
/// comments or `config` ignore. File names are relative to `directory`.
pub fn sort(findings: Vec<Finding>, material: &Material, config: &Config, directory: &Path) -> Sorted {
    let mut sorted = Sorted::default();
    let mut comments: BTreeMap<String, Vec<Directive>> = BTreeMap::new();
    let files = files(material);
    for file in &files {
        let directives = directives(file, &mut sorted.problems);
        if !directives.is_empty() {
            comments.insert(file.name.clone(), directives);
        }
    }
    let mut used = vec![false; config.ignores.len()];
    for mut finding in findings {
        let by_comment = comments.get_mut(&finding.file.name).and_then(|directives| claim(directives, &finding));
        let file = config.named(&finding.file.name, directory);
        let by_config = config.ignores.iter().position(|entry| entry.get_ref().covers(&finding, config, &file));
        if let Some(used) = by_config.and_then(|index| used.get_mut(index)) {
            *used = true;
        }
        let Some(severity) = config.severity_of(finding.rule) else { continue };
        // Only another severity than the rule's own changes a milder case.
        if severity != finding.rule.texts().severity {
            finding.severity = severity;
        }
        let by_config = by_config
            .and_then(|index| config.ignores.get(index))
            .map(|entry| Exception { by: IgnoredBy::Configuration, reason: entry.get_ref().reason.clone() });
        let by_comment = by_comment.map(|reason| Exception { by: IgnoredBy::Comment, reason });
        match by_comment.or(by_config) {
            Some(exception) => sorted.ignored.push(Ignored { finding, exception }),
            None => sorted.findings.push(finding),
        }
    }
    let paths: Vec<PathBuf> =
        files.iter().map(|file| Config::relative(&file.name, directory, &config.directory)).collect();
    sorted.unused = unused_comments(&comments).chain(config.unused(&used, &paths)).collect();
    sorted
}

/// All files of a run, each once.
fn files(material: &Material) -> Vec<&Arc<SourceFile>> {
    let by_name: BTreeMap<&str, &Arc<SourceFile>> = material.files().map(|file| (file.name.as_str(), file)).collect();
    by_name.into_values().collect()
}

/// The reason of the first comment that ignores `finding`.
fn claim(directives: &mut [Directive], finding: &Finding) -> Option<String> {
    let line = std::cell::OnceCell::new();
    let mut reason = None;
    for directive in directives.iter_mut().filter(|directive| directive.rule == finding.rule.id) {
        let line = || *line.get_or_init(|| finding.file.position(finding.span.start).line);
        if directive.concerns(finding.span.start, line) {
            directive.is_used = true;
            reason.get_or_insert_with(|| directive.reason.clone());
        }
    }
    reason
}

fn unused_comments(comments: &BTreeMap<String, Vec<Directive>>) -> impl Iterator<Item = String> {
    comments.iter().flat_map(|(file, directives)| {
        directives.iter().filter(|directive| !directive.is_used).map(move |directive| {
            let Position { line, column } = directive.position;
            format!("{file}:{line}:{column}: this comment ignores no finding of {}", directive.rule)
        })
    })
}
