//! Adds comments that ignore findings.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use super::comment::directives;
use crate::{
    document::{Node, Value},
    finding::Finding,
    input::{Notation, parse_all},
    source::SourceFile,
};

/// The rules to ignore, by line, counted from 1.
type Lines = BTreeMap<usize, BTreeSet<&'static str>>;

/// The text of `file` with comments that ignore `findings`, and the findings for which there can be none: in JSON without
/// comments, and within texts of several lines. No text if there is no comment.
pub(super) fn annotated<'f>(
    file: &SourceFile,
    findings: &[&'f Finding],
    reason: &str,
) -> (Option<String>, Vec<&'f Finding>) {
    let line = |finding: &Finding| file.position(finding.span.start).line;
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
    content: Vec<Node>,
    opener: &'static str,
    reason: &'f str,
}

impl<'f> Writer<'f> {
    /// `None` if the file must have no comments.
    fn of(file: &'f SourceFile, reason: &'f str) -> Option<Self> {
        let (notation, content) = parse_all(file).ok()?;
        let opener = match notation {
            Notation::Yaml => "#",
            Notation::Json if is_strict_json(&file.text) => return None,
            Notation::Json => "//",
        };
        Some(Self { file, content, opener, reason })
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
                let (opener, rules) = (self.opener, rules.join(", "));
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
        are_read
            && problems.is_empty()
            && parse_all(&after).is_ok_and(|(_, content)| are_equal(&content, &self.content))
    }
}

/// JSON without comments and trailing commas.
fn is_strict_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text.trim_start_matches('\u{feff}')).is_ok()
}

/// Whether two lists have the same values.
fn are_equal(one: &[Node], other: &[Node]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_equal(one, other))
}

/// Whether two nodes have the same values, wherever they stand.
fn is_equal(one: &Node, other: &Node) -> bool {
    match (&one.value, &other.value) {
        (Value::Null, Value::Null) | (Value::Unknown, Value::Unknown) => true,
        (Value::Bool(one), Value::Bool(other)) => one == other,
        (Value::Number(one), Value::Number(other)) | (Value::Text(one), Value::Text(other)) => one == other,
        (Value::List(one), Value::List(other)) => are_equal(one, other),
        (Value::Map(one), Value::Map(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| one.key == other.key && is_equal(&one.node, &other.node))
        }
        _ => false,
    }
}
