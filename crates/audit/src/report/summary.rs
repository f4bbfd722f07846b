//! The summary of a report.

use super::model::Report;

impl Report {
    /// The summary as the last line of a text; empty if the report has none.
    pub fn summary_line(&self) -> String {
        if self.has_summary { self.summary() + "\n" } else { String::new() }
    }

    /// `3 errors, 1 warning in 2 of 14 task definitions (12 files)`.
    pub fn summary(&self) -> String {
        let counts = self.counts;
        let found = [(counts.errors, "error"), (counts.warnings, "warning"), (counts.infos, "info")];
        let found: Vec<String> = found.iter().filter(|(n, _)| *n > 0).map(|(n, what)| counted(*n, what)).collect();
        let mut scope = vec![counted(counts.files, "file")];
        if counts.resources > 0 {
            scope.push(counted(counts.resources, "App Mesh resource"));
        }
        if counts.ignored > 0 {
            scope.push(format!("{} ignored", counted(counts.ignored, "finding")));
        }
        if counts.problems > 0 {
            scope.push(counted(counts.problems, "problem"));
        }
        if !self.unchecked.is_empty() {
            scope.push(format!("{} known only with a plan", self.unchecked.len()));
        }
        let scope = scope.join(", ");
        let definitions = counted(counts.definitions, "task definition");
        if found.is_empty() {
            return format!("no findings in {definitions} ({scope})");
        }
        format!("{} in {} of {definitions} ({scope})", found.join(", "), counts.definitions_with_findings)
    }
}

/// `1 file`, `2 files`.
pub(super) fn counted(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
