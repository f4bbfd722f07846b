//! Workflow commands of GitHub Actions:
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>

use std::fmt::Write;

use super::model::{Report, Reported};
use crate::finding::Severity;
use audit_read::{document::Position, input::InputProblem};

pub(super) fn render(report: &Report) -> String {
    let mut out = String::new();
    report.findings.iter().for_each(|finding| annotate(&mut out, finding));
    report.problems.iter().for_each(|problem| remark(&mut out, "error", "unreadable", problem));
    report.unchecked.iter().for_each(|problem| remark(&mut out, "notice", "not checked", problem));
    out.push_str(&report.summary_line());
    out
}

fn annotate(out: &mut String, finding: &Reported) {
    let command = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    let (start, end) = (finding.start, finding.end);
    // Columns are valid only within one line.
    let columns =
        if start.line == end.line { format!(",col={},endColumn={}", start.column, end.column) } else { String::new() };
    let text = format!(
        "{}\nin: {}\nat run time: {}\nfix: {}\nmore: {}",
        finding.message,
        finding.subject_and_container(),
        finding.rule.effect,
        finding.help,
        finding.page()
    );
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "::{command} file={},line={},endLine={}{columns},title={}::{}",
        property(&finding.file),
        start.line,
        end.line,
        property(finding.rule.id),
        data(&text)
    );
}

fn remark(out: &mut String, command: &str, title: &str, problem: &InputProblem) {
    let place =
        problem.position.map_or_else(String::new, |Position { line, column }| format!(",line={line},col={column}"));
    let _ =
        writeln!(out, "::{command} file={}{place},title={title}::{}", property(&problem.file), data(&problem.reason));
}

/// Escapes what follows `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property's value.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(data("50%\n::error::x"), "50%25%0A::error::x");
        assert_eq!(property("a,b:c%"), "a%2Cb%3Ac%25");
    }
}
