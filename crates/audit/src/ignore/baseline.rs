//! Exceptions for all findings of a run: comments in files that may have them, else entries of the configuration file.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    path::Path,
    sync::Arc,
};

use hcl_edit::structure::Body;
use serde_json::Value as Json;

use super::{comment::directives, config::Config};
use crate::{finding::Finding, report::mistakes};
use document::{Comments, Node, Notation, SourceFile, hcl, parse_all};

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
                let findings = mistakes(&findings) - mistakes(&rest);
                baseline.files.push(Annotated { before: Arc::clone(file), after, findings });
            }
            let path = globset::escape(&Config::relative(&file.name, directory, root).to_string_lossy());
            let path = (origin != Origin::Elsewhere).then_some(path);
            baseline.findings_of_entries += mistakes(&rest);
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

/// The rules to ignore, by line, counted from 1.
type Lines = BTreeMap<usize, BTreeSet<&'static str>>;

/// The text of `file` with comments that ignore `findings`, and the findings for which there can be none: in JSON without
/// comments, and on lines that begin within a string. No text if there is no comment.
fn annotated<'f>(file: &SourceFile, findings: &[&'f Finding], reason: &str) -> (Option<String>, Vec<&'f Finding>) {
    let comments = Comments::of(file);
    // The comment about a part of a string of several lines is above the string.
    let line = |finding: &Finding| {
        let at = finding.span.start;
        file.position(comments.text_around(at).map_or(at, |text| text.start)).line
    };
    let mut wanted = Lines::new();
    for finding in findings {
        wanted.entry(line(finding)).or_default().insert(finding.rule.id);
    }
    let Some(writer) = Writer::of(file, reason) else { return (None, findings.to_vec()) };
    let lines = if writer.is_right(&wanted) {
        wanted
    } else {
        wanted.into_iter().filter(|(line, rules)| writer.is_right(&Lines::from([(*line, rules.clone())]))).collect()
    };
    let rest = findings.iter().filter(|finding| !lines.contains_key(&line(finding))).copied().collect();
    ((!lines.is_empty()).then(|| writer.text(&lines)), rest)
}

/// Writes comments into a file.
struct Writer<'f> {
    file: &'f SourceFile,
    content: Content,
    reason: &'f str,
}

impl<'f> Writer<'f> {
    /// `None` if the file must have no comments.
    fn of(file: &'f SourceFile, reason: &'f str) -> Option<Self> {
        Content::of(file).map(|content| Self { file, content, reason })
    }

    /// The text with a comment above each of the lines, indented as the line is.
    fn text(&self, lines: &Lines) -> String {
        let mut out = String::with_capacity(self.file.text.len());
        for (index, line) in self.file.text.split_inclusive('\n').enumerate() {
            let content = line.trim_start_matches('\u{feff}');
            let (mark, _) = line.split_at(line.len() - content.len());
            out.push_str(mark);
            if let Some(rules) = lines.get(&(index + 1)) {
                let (indentation, _) = content.split_at(content.len() - content.trim_start_matches([' ', '\t']).len());
                let rules: Vec<&str> = rules.iter().copied().collect();
                let end = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
                let (opener, rules) = (self.content.opener(), rules.join(", "));
                // Writing to a string cannot fail.
                let _ = write!(out, "{indentation}{opener} ecs-mesh: ignore[{rules}] {}{end}", self.reason);
            }
            out.push_str(content);
        }
        out
    }

    /// Whether these comments leave the content as it is, and are read as comments about their lines.
    fn is_right(&self, lines: &Lines) -> bool {
        let after = SourceFile::new(self.file.name.as_str(), self.text(lines));
        let mut problems = Vec::new();
        let found = directives(&after, &mut problems);
        // Each comment moves its line, and those below it, by one.
        let are_read = lines.iter().enumerate().all(|(above, (line, rules))| {
            let moved = Some(line + above + 1);
            rules.iter().all(|rule| found.iter().any(|directive| directive.rule == *rule && directive.line == moved))
        });
        are_read && problems.is_empty() && Content::of(&after).as_ref() == Some(&self.content)
    }
}

/// What a file says, without its comments and places.
#[derive(PartialEq)]
enum Content {
    /// JSON with comments.
    Json(Vec<Json>),
    Yaml(Vec<Json>),
    /// Terraform's native syntax.
    Terraform(Body),
}

impl Content {
    /// `None` if the file cannot be read, or is JSON without comments, which its readers may require.
    fn of(file: &SourceFile) -> Option<Self> {
        if hcl::is_hcl(file) {
            return hcl::parse(&file.text).ok().map(Self::Terraform);
        }
        let (notation, documents) = parse_all(file).ok()?;
        let documents = documents.iter().map(Node::json).collect();
        match notation {
            Notation::Yaml => Some(Self::Yaml(documents)),
            Notation::Json => (!is_strict_json(&file.text)).then_some(Self::Json(documents)),
        }
    }

    /// What begins a comment.
    fn opener(&self) -> &'static str {
        match self {
            Self::Json(_) => "//",
            Self::Yaml(_) | Self::Terraform(_) => "#",
        }
    }
}

/// JSON without comments and trailing commas.
fn is_strict_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text.trim_start_matches('\u{feff}')).is_ok()
}
