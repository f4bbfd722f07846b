//! GitLab's code quality report: <https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format>

use serde::Serialize;
use uuid::Uuid;

use super::model::{Report, Reported};
use crate::finding::Severity;
use audit_read::input::InputProblem;

/// The UUID namespace of the fingerprints of problems.
const PROBLEMS: Uuid = Uuid::from_u128(0x6d65_7368_2d61_7564_6974_2d70_726f_626c);

#[derive(Serialize)]
struct Issue {
    description: String,
    check_name: &'static str,
    fingerprint: String,
    severity: &'static str,
    location: Location,
}

#[derive(Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: usize,
}

pub(super) fn render(report: &Report) -> Result<String, serde_json::Error> {
    let problems =
        report.problems.iter().map(|problem| of_input(problem, ["could not be read", "unreadable", "blocker"]));
    let unchecked = report.unchecked.iter().map(|problem| of_input(problem, ["not checked", "not-checked", "info"]));
    let issues: Vec<Issue> = report.findings.iter().map(issue).chain(problems).chain(unchecked).collect();
    Ok(serde_json::to_string_pretty(&issues)? + "\n")
}

fn issue(finding: &Reported) -> Issue {
    let Reported { message, help, rule, fingerprint, .. } = finding;
    let subject = finding.subject_and_container();
    Issue {
        description: format!("{subject}: {message}. At run time: {}. Fix: {help}.", rule.effect),
        check_name: rule.id,
        fingerprint: fingerprint.clone(),
        severity: match finding.severity {
            Severity::Error => "major",
            Severity::Warning => "minor",
            Severity::Info => "info",
        },
        location: location(&finding.file, finding.start.line),
    }
}

fn of_input(problem: &InputProblem, [what, check_name, severity]: [&'static str; 3]) -> Issue {
    let text = problem.to_string();
    Issue {
        fingerprint: Uuid::new_v5(&PROBLEMS, text.as_bytes()).to_string(),
        description: format!("{what}: {}", problem.reason),
        check_name,
        severity,
        location: location(&problem.file, problem.position.map_or(1, |position| position.line)),
    }
}

/// GitLab reads paths relative to the repository, without `./`.
fn location(file: &str, begin: usize) -> Location {
    Location { path: file.trim_start_matches("./").to_owned(), lines: Lines { begin } }
}
