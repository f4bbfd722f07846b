//! Input that cannot be checked.

use std::fmt;

use serde::Serialize;

use crate::{
    error::ParseError,
    source::SourceFile,
    span::{Position, Span},
};

/// A problem with the input, in one line: `path:line:col: reason`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InputProblem {
    /// The file, as the user gave it; `<stdin>` for standard input.
    pub file: String,
    /// The position in the file, if there is one.
    #[serde(rename = "start", skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// The reason. It contains no values, which might be secrets.
    pub reason: String,
}

impl InputProblem {
    /// A problem of a file as a whole.
    pub fn of(file: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { file: file.into(), position: None, reason: reason.into() }
    }

    /// A problem at a place of a file.
    pub fn at(file: &SourceFile, span: Span, reason: impl Into<String>) -> Self {
        Self { file: file.name.clone(), position: Some(file.position(span.start)), reason: reason.into() }
    }

    /// A text that is in none of the notations.
    pub fn unreadable(file: &SourceFile, error: &ParseError) -> Self {
        Self::unexpected(file, error.span, &error.reason)
    }

    /// A problem with what is at a place. If another program has to render the text first, the reason says so.
    pub fn unexpected(file: &SourceFile, span: Span, reason: &str) -> Self {
        Self::at(file, span, format!("{reason}{}", hint(&file.text, span)))
    }
}

/// What opens a tag in Go templates, Jinja and ERB. The error may be in the line after the tag.
const TAGS: [&str; 3] = ["{{", "{%", "<%"];
/// What opens a placeholder where JSON and YAML expect a value.
const PLACEHOLDERS: [&str; 5] = ["${", "<", "@", "%", "__"];

/// The bytes around an error in which a tag may be: a text may be one line.
const NEAR: usize = 1024;

/// A hint at the cause of an error, if its place shows that another program has to render the text first.
fn hint(text: &str, span: Span) -> &'static str {
    let at = text.floor_char_boundary(span.start);
    let first = text.floor_char_boundary(at.saturating_sub(NEAR));
    let last = text.floor_char_boundary(at.saturating_add(NEAR));
    let (before, after) = (text.get(first..at).unwrap_or_default(), text.get(at..last).unwrap_or_default());
    let before =
        before.rmatch_indices('\n').nth(1).and_then(|(newline, _)| before.get(newline + 1..)).unwrap_or(before);
    let near = [before, after.split('\n').next().unwrap_or_default()].concat().replace("{{resolve:", "");
    if TAGS.iter().any(|tag| near.contains(tag)) || PLACEHOLDERS.iter().any(|opening| after.starts_with(opening)) {
        "; this looks like a template: check what it renders"
    } else {
        ""
    }
}

impl fmt::Display for InputProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", one_line(&self.file))?;
        if let Some(Position { line, column }) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", one_line(&self.reason))
    }
}

/// Names of files and keys may contain anything: characters that break the line or control the terminal are escaped.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes hours if every problem reads the whole line.
    #[test]
    fn many_problems_of_one_line_read_it_once() {
        let file = SourceFile::new("task.json", "[1.5,{{".to_owned() + &"1.5,".repeat(2_000_000));
        for at in (0..8_000_000).step_by(40) {
            let problem = InputProblem::unexpected(&file, Span::new(at, at + 3), "a number");
            assert_eq!(problem.reason.contains("looks like a template"), at < NEAR + 7, "{at}");
        }
    }

    #[test]
    fn a_problem_is_one_line_with_path_and_position() {
        let file = SourceFile::new("a/b.json", "{\n  x\n}");
        let problem = InputProblem::at(&file, Span::new(4, 5), "not JSON: unexpected token");
        assert_eq!(problem.to_string(), "a/b.json:2:3: not JSON: unexpected token");
        assert_eq!(InputProblem::of("a\nb", "empty \u{1b}[31m").to_string(), "a\\nb: empty \\u{1b}[31m");
    }
}
