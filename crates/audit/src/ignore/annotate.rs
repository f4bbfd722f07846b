//! Adds comments that ignore findings.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use super::{comment::directives, content::Content};
use crate::finding::Finding;
use audit_read::source::SourceFile;

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
        are_read && problems.is_empty() && Content::of(&after).is_some_and(|content| content.is_equal(&self.content))
    }
}
