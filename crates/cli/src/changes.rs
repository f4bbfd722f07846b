//! Diffs of changed files.

use anstyle::{AnsiColor, Style};
use similar::TextDiff;

use audit_read::source::SourceFile;

/// A text before and after.
pub(super) struct Change<'c> {
    /// The file.
    pub(super) before: &'c SourceFile,
    /// Its text afterwards.
    pub(super) after: &'c str,
}

impl Change<'_> {
    /// A unified diff for `patch` and `git apply`; empty without changes.
    pub(super) fn diff(&self, in_colour: bool) -> String {
        let diff = TextDiff::from_lines(self.before.text.as_str(), self.after);
        let name = &self.before.name;
        let unified =
            diff.unified_diff().context_radius(3).header(&format!("a/{name}"), &format!("b/{name}")).to_string();
        if !in_colour {
            return unified;
        }
        unified.split_inclusive('\n').map(coloured).collect()
    }
}

fn coloured(line: &str) -> String {
    let colour = match line.chars().next() {
        Some('+') => AnsiColor::Green,
        Some('-') => AnsiColor::Red,
        Some('@') => AnsiColor::Cyan,
        _ => return line.to_owned(),
    };
    let style = Style::new().fg_color(Some(colour.into()));
    let text = line.trim_end_matches('\n');
    format!("{style}{text}{style:#}{}", &line.get(text.len()..).unwrap_or_default())
}
