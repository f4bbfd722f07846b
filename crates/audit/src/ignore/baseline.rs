//! Exceptions for all findings of a run: comments in files that may have them, else entries of the configuration file.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use super::{annotate::annotated, config::Config};
use crate::finding::Finding;
use audit_read::source::SourceFile;

/// Exceptions for all findings of a run.
#[derive(Debug, Default)]
pub struct Baseline {
    /// Files with new comments.
    pub files: Vec<Annotated>,
    /// New entries of the configuration file.
    pub entries: BTreeSet<NewEntry>,
    /// The number of findings that the entries ignore.
    pub findings_of_entries: usize,
}

/// A file with new comments.
#[derive(Debug)]
pub struct Annotated {
    pub before: Arc<SourceFile>,
    /// Its text with the comments.
    pub after: String,
    /// The number of findings that the comments ignore.
    pub findings: usize,
}

/// A new entry of the configuration file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NewEntry {
    /// The pattern of the file; `None` for standard input and task definitions of an account.
    pub path: Option<String>,
    /// The pattern of the family.
    pub family: String,
    pub rule: &'static str,
}

/// Where a text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A file that people edit: it gets comments.
    Edited,
    /// A file that a program writes anew: it gets entries.
    Generated,
    /// No file: it gets entries without a path.
    Elsewhere,
}

impl Baseline {
    /// Exceptions for `findings`. Names of files are relative to `directory`, the paths of entries to `root`, the
    /// directory of the configuration file.
    ///
    /// JSON without comments gets entries, because programs that read it may not accept comments.
    pub fn new(
        findings: &[&Finding],
        reason: &str,
        directory: &Path,
        root: &Path,
        origin: &dyn Fn(&SourceFile) -> Origin,
    ) -> Self {
        let mut by_file: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
        for &finding in findings {
            by_file.entry(&finding.file.name).or_default().push(finding);
        }
        let mut baseline = Self::default();
        for findings in by_file.into_values() {
            let Some(file) = findings.first().map(|finding| &finding.file) else { continue };
            let origin = origin(file);
            let (after, rest) = match origin {
                Origin::Edited => annotated(file, &findings, reason),
                Origin::Generated | Origin::Elsewhere => (None, findings.clone()),
            };
            if let Some(after) = after {
                let findings = findings.len() - rest.len();
                baseline.files.push(Annotated { before: Arc::clone(file), after, findings });
            }
            let path = globset::escape(&Config::relative(&file.name, directory, root).to_string_lossy());
            let path = (origin != Origin::Elsewhere).then_some(path);
            baseline.findings_of_entries += rest.len();
            baseline.entries.extend(rest.iter().map(|finding| NewEntry {
                path: path.clone(),
                family: globset::escape(&finding.family),
                rule: finding.rule.id,
            }));
        }
        baseline
    }

    /// The entries as TOML, to be added to the end of the configuration file.
    pub fn entries_as_toml(&self, reason: &str) -> String {
        let entry = |entry: &NewEntry| {
            let path = entry.path.as_ref().map_or_else(String::new, |path| format!("path = {}\n", quoted(path)));
            let (rule, family, reason) = (quoted(entry.rule), quoted(&entry.family), quoted(reason));
            format!("\n[[ignore]]\nrule = {rule}\n{path}family = {family}\nreason = {reason}\n")
        };
        self.entries.iter().map(entry).collect()
    }
}

/// A string of TOML. What JSON escapes, TOML escapes in the same way; in addition, it refuses DEL.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}
