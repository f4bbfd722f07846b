//! `JUnit` XML: a suite for each file, with a failed test for each finding and a passed test for each definition
//! without findings.

use std::collections::BTreeMap;

use quick_junit::{NonSuccessKind, Report as JunitReport, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::model::{Report, Reported};
use crate::ignore::Exception;
use document::InputProblem;

pub(super) fn render(report: &Report) -> Result<String, SerializeError> {
    let mut suites: BTreeMap<&str, Vec<TestCase>> = BTreeMap::new();
    for problem in &report.problems {
        suites.entry(problem.file.as_str()).or_default().push(unreadable(problem));
    }
    for problem in &report.unchecked {
        suites.entry(problem.file.as_str()).or_default().push(unchecked(problem));
    }
    for finding in report.findings.iter().chain(&report.ignored) {
        suites.entry(finding.file.as_str()).or_default().push(case(report, finding));
    }
    for definition in report.clean_definitions() {
        let mut case = TestCase::new(definition.label.as_str(), TestCaseStatus::success());
        case.set_classname(definition.label.as_str());
        suites.entry(definition.file.as_str()).or_default().push(case);
    }
    let mut junit = JunitReport::new("ecs-mesh");
    for (file, cases) in suites {
        let mut suite = TestSuite::new(file);
        suite.add_test_cases(cases);
        junit.add_test_suite(suite);
    }
    junit.to_string()
}

fn case(report: &Report, finding: &Reported) -> TestCase {
    let status = match &finding.ignored {
        Some(Exception { reason, .. }) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(format!("ignored: {reason}"));
            status
        }
        None if report.threshold.includes(finding.severity) => failed(finding),
        None => TestCaseStatus::success(),
    };
    let mut case = TestCase::new(format!("{} at {}", finding.rule.id, finding.place()), status);
    case.set_classname(finding.subject.as_str());
    if finding.ignored.is_none() && !report.threshold.includes(finding.severity) {
        case.set_system_out(format!("{}: {}", finding.severity.as_str(), story(finding)));
    }
    case
}

fn failed(finding: &Reported) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(finding.message.as_str());
    status.set_type(finding.severity.as_str());
    status.set_description(story(finding));
    status
}

fn story(finding: &Reported) -> String {
    let Reported { message, effect, help, .. } = finding;
    let calls = finding.called_as().map(|calls| format!("\ncalled as: {calls}")).unwrap_or_default();
    format!("{}: {message}{calls}\nat run time: {effect}\nfix: {help}\nmore: {}", finding.place(), finding.more())
}

fn unreadable(problem: &InputProblem) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(problem.reason.as_str());
    status.set_type("unreadable");
    status.set_description(problem.to_string());
    let mut case = TestCase::new("can be read", status);
    case.set_classname(problem.file.as_str());
    case
}

fn unchecked(problem: &InputProblem) -> TestCase {
    let mut status = TestCaseStatus::skipped();
    status.set_message(problem.to_string());
    let mut case = TestCase::new("can be checked", status);
    case.set_classname(problem.file.as_str());
    case
}
