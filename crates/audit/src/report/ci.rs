//! What CI services show next to the lines of a change.

use std::fmt::Write;

use serde_json::{Value, json};
use uuid::Uuid;

use super::model::{Report, Reported};
use document::{InputProblem, Position};

/// The UUID namespace of the fingerprints of problems.
const PROBLEMS: Uuid = Uuid::from_u128(0x6d65_7368_2d61_7564_6974_2d70_726f_626c);

/// Workflow commands of GitHub Actions:
/// <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>
pub(super) fn github(report: &Report) -> String {
    let mut out = String::new();
    report.findings.iter().for_each(|finding| annotate(&mut out, finding));
    report.problems.iter().for_each(|problem| remark(&mut out, "error", "unreadable", problem));
    report.unchecked.iter().for_each(|problem| remark(&mut out, "notice", "not checked", problem));
    out.push_str(&report.summary_line());
    out
}

fn annotate(out: &mut String, finding: &Reported) {
    let command = finding.severity.pick(["error", "warning", "notice"]);
    let (start, end) = (finding.start, finding.end);
    // Columns are valid only within one line.
    let columns =
        if start.line == end.line { format!(",col={},endColumn={}", start.column, end.column) } else { String::new() };
    let text = format!(
        "{}\nin: {}{}\nat run time: {}\nfix: {}\nmore: {}",
        finding.message,
        finding.subject_and_container(),
        finding.called_as().map(|calls| format!("\ncalled as: {calls}")).unwrap_or_default(),
        finding.effect,
        finding.help,
        finding.more()
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

/// GitLab's code quality report: <https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format>
pub(super) fn gitlab(report: &Report) -> Result<String, serde_json::Error> {
    let problems =
        report.problems.iter().map(|problem| of_input(problem, ["could not be read", "unreadable", "blocker"]));
    let unchecked = report.unchecked.iter().map(|problem| of_input(problem, ["not checked", "not-checked", "info"]));
    let issues: Vec<Value> = report.findings.iter().map(issue).chain(problems).chain(unchecked).collect();
    Ok(serde_json::to_string_pretty(&issues)? + "\n")
}

fn issue(finding: &Reported) -> Value {
    let Reported { message, effect, help, rule, .. } = finding;
    let subject = finding.subject_and_container();
    let calls = finding.called_as().map(|calls| format!(", called as {calls}")).unwrap_or_default();
    json!({
        "description": format!("{subject}{calls}: {message}. At run time: {effect}. Fix: {help}."),
        "check_name": rule.id,
        "fingerprint": finding.fingerprint,
        "severity": finding.severity.pick(["major", "minor", "info"]),
        "location": location(&finding.file, finding.start.line),
    })
}

fn of_input(problem: &InputProblem, [what, check_name, severity]: [&str; 3]) -> Value {
    json!({
        "description": format!("{what}: {}", problem.reason),
        "check_name": check_name,
        "fingerprint": Uuid::new_v5(&PROBLEMS, problem.to_string().as_bytes()),
        "severity": severity,
        "location": location(&problem.file, problem.position.map_or(1, |position| position.line)),
    })
}

/// GitLab reads paths relative to the repository, without `./`.
fn location(file: &str, begin: usize) -> Value {
    json!({ "path": file.trim_start_matches("./"), "lines": { "begin": begin } })
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
