//! The log of the container that a conclusion names.

use jiff::Timestamp;
use mesh::{consul_ecs::names::DATAPLANE, definition::ContainerLog, task::ContainerHealth};
use observe::{InspectedCluster, LogEvent, LogsError};

use super::{asked, id, running::fail_checks};
use crate::{
    examples::{described, revision},
    why::{
        Condition, WhyReport,
        log::{KNOWN_MESSAGES, without_secrets},
    },
};

/// A container of the first task is unhealthy, and logs to `CloudWatch` Logs.
fn unhealthy(cluster: &mut InspectedCluster, name: &str) {
    fail_checks(cluster);
    let is_it = |it: &&mut mesh::task::TaskContainer| it.name == name;
    let task = described(&mut cluster.tasks[0]);
    task.containers.iter_mut().find(is_it).unwrap().health = ContainerHealth::Unhealthy;
    let revision = revision(&mut cluster.tasks[0]);
    let container = revision.containers.iter_mut().find(|it| it.name == name).unwrap();
    let log = ContainerLog { group: "/ecs/web".to_owned(), region: None, stream_prefix: Some("ecs".to_owned()) };
    container.log = Some(log);
}

fn events(lines: &[&str]) -> Vec<LogEvent> {
    let at = |line: &str| LogEvent { at: Timestamp::UNIX_EPOCH, text: line.to_owned() };
    lines.iter().map(|line| at(line)).collect()
}

/// The report on an unhealthy container, whose log has these lines.
fn with_log(container: &str, lines: &[&str]) -> WhyReport {
    let mut report = asked(|cluster, _| unhealthy(cluster, container));
    report.add_log(Ok(events(lines)), false);
    report
}

const REFUSED: &str = "2026-11-29T11:00:00Z [ERROR] ACL auth method login failed: error=\"rpc error: code = Unauthenticated \
                       desc = IAM principal arn:aws:iam::111122223333:role/web is not trusted\"";

#[test]
fn known_message_of_a_program_of_the_mesh_explains_the_conclusion() {
    let report = with_log(DATAPLANE, &["[INFO] starting", REFUSED, "[INFO] trying to connect to a Consul server"]);
    let log = report.log.unwrap();
    let shown: Vec<&str> = log.lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!((log.stream, shown), (format!("ecs/{DATAPLANE}/{}", id(1)), vec![REFUSED]));
    let meaning = log.meaning.unwrap().sentence;
    let expected = format!(". The log of {DATAPLANE} says why: {meaning}");
    assert!(report.conclusion.ends_with(&expected), "{}", report.conclusion);
    assert!(meaning.contains("does not trust the task role"), "{meaning}");
}

#[test]
fn log_of_an_app_is_shown_and_not_interpreted() {
    let report = with_log("app", &["Error: connect ECONNREFUSED: connection refused"]);
    let log = report.log.unwrap();
    assert_eq!((log.lines.len(), log.meaning), (1, None));
    assert!(!report.conclusion.contains("says why"), "{}", report.conclusion);
}

#[test]
fn log_without_an_error_shows_its_end() {
    let lines: Vec<String> = (1..=9).map(|number| format!("request {number}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let shown = with_log("app", &lines).log.unwrap().lines;
    let shown: Vec<&str> = shown.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(shown, ["request 5", "request 6", "request 7", "request 8", "request 9"]);
}

#[test]
fn log_that_cannot_be_read_changes_nothing_else() {
    let mut report = asked(|cluster, _| unhealthy(cluster, DATAPLANE));
    let before = report.clone();
    let reason = "AccessDeniedException".to_owned();
    report.add_log(Err(LogsError::Failed { group: "/ecs/web".to_owned(), reason }), false);
    let problem = report.log.as_ref().unwrap().problem.clone().unwrap();
    assert_eq!(problem, "log group /ecs/web: the call failed: AccessDeniedException");
    assert_eq!(
        (report.condition, &report.conclusion, &report.problems),
        (Condition::Faulty, &before.conclusion, &before.problems)
    );
}

#[test]
fn healthy_task_has_no_log_to_read() {
    let mut report = asked(|_, _| {});
    report.add_log(Ok(events(&[REFUSED])), false);
    assert_eq!(report.log, None);
}

#[test]
fn no_known_message_hides_another() {
    for message in KNOWN_MESSAGES {
        let line = message.parts.join(" ");
        let meaning = with_log(DATAPLANE, &[&line]).log.unwrap().meaning;
        assert_eq!(meaning, Some(message.meaning), "{line}");
    }
}

#[test]
fn secrets_are_hidden_and_ids_are_not() {
    let token = "0b3c5ff2-5a3e-4a0f-9e6c-8b8f7d2f9b11";
    for (line, shown) in [
        (format!("login: SecretID={token}"), "login: SecretID=…".to_owned()),
        (format!("got {token} back"), "got … back".to_owned()),
        (format!("login succeeded: accessorID={token}"), format!("login succeeded: accessorID={token}")),
        ("PASSWORD: hunter22 rejected".to_owned(), "PASSWORD: … rejected".to_owned()),
        ("Authorization: Bearer eyJhbGciOi.eyJzdWIi.c2ln".to_owned(), "Authorization: Bearer ….….c2ln".to_owned()),
        (
            "task 0123456789abcdef0123456789abcdef failed".to_owned(),
            "task 0123456789abcdef0123456789abcdef failed".to_owned(),
        ),
        (
            "dial tcp 10.0.0.1:8503: connection refused".to_owned(),
            "dial tcp 10.0.0.1:8503: connection refused".to_owned(),
        ),
        (format!("key {}", "aB3".repeat(14)), "key …".to_owned()),
    ] {
        assert_eq!(without_secrets(&line), shown);
    }
}
