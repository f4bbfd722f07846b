//! The log of the container that a conclusion names.

use jiff::Timestamp;
use mesh::{
    consul_ecs::names::DATAPLANE,
    definition::{ContainerLog as Log, LogGroup},
    task::ContainerHealth,
};
use mesh_examples::container;
use observe::{InspectedCluster, LogEvent, LogsError};

use super::{asked, id, login_token, running::fail_checks, tokens};
use crate::{
    examples::{described, revision},
    redaction::{line, without_secrets},
    why::{Background, Condition, ContainerLog, WhyReport},
};

const HEALTH_SYNC: &str = "consul-ecs-health-sync";

fn log_group() -> LogGroup {
    LogGroup { name: "/ecs/web".to_owned(), region: None, stream_prefix: Some("ecs".to_owned()) }
}

/// A log in `CloudWatch` Logs.
pub(super) fn in_group() -> Log {
    Log::CloudWatch(log_group())
}

/// A container of the first task is unhealthy, and has this log.
fn unhealthy(cluster: &mut InspectedCluster, name: &str, log: Option<Log>) {
    fail_checks(cluster);
    let is_it = |it: &&mut mesh::task::TaskContainer| it.name == name;
    let task = described(&mut cluster.tasks[0]);
    task.containers.iter_mut().find(is_it).unwrap().health = ContainerHealth::Unhealthy;
    let revision = revision(&mut cluster.tasks[0]);
    let container = revision.containers.iter_mut().find(|it| it.name == name).unwrap();
    container.log = log;
}

fn events(lines: &[&str]) -> Vec<LogEvent> {
    let at = |line: &str| LogEvent { at: Timestamp::UNIX_EPOCH, text: line.to_owned() };
    lines.iter().map(|line| at(line)).collect()
}

/// The report on an unhealthy container, whose log has these lines.
pub(super) fn with_log(container: &str, lines: &[&str]) -> WhyReport {
    let mut report = asked(|cluster, _| unhealthy(cluster, container, Some(in_group())));
    report.add_log(Ok(events(lines)), false);
    report
}

/// What is shown of a log with these lines.
fn shown(container: &str, lines: &[&str]) -> Vec<String> {
    with_log(container, lines).log.unwrap().lines.into_iter().map(|line| line.text).collect()
}

const REFUSED: &str = "2026-11-29T11:00:00Z [ERROR] ACL auth method login failed: error=\"rpc error: code = Unauthenticated \
                       desc = IAM principal arn:aws:iam::111122223333:role/web is not trusted\"";

#[test]
fn known_message_of_a_program_of_the_mesh_explains_the_conclusion() {
    let report = with_log(DATAPLANE, &["[INFO] starting", REFUSED, "[INFO] trying to connect to a Consul server"]);
    let log = report.log.unwrap();
    let shown: Vec<&str> = log.lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!((log.stream.unwrap().name, shown), (format!("ecs/{DATAPLANE}/{}", id(1)), vec![REFUSED]));
    let meaning = log.meaning.unwrap().sentence;
    let expected = format!(
        "It gets no traffic because ECS reports its container {DATAPLANE} as UNHEALTHY. Check the command of its health check. \
         The log of {DATAPLANE} says: {meaning}"
    );
    assert_eq!(report.conclusion, expected);
    assert!(meaning.contains("does not trust the task role"), "{meaning}");
}

#[test]
fn conclusion_says_to_read_a_log_only_if_it_was_not_read() {
    let advice = format!("Read its log (log group /ecs/web, stream ecs/{DATAPLANE}/{})", id(1));
    let says_to_read = |report: WhyReport| report.conclusion.contains(&advice);
    assert!(!says_to_read(with_log(DATAPLANE, &["[info] starting"])));
    assert!(says_to_read(with_log(DATAPLANE, &[])), "an empty log says nothing");
    assert!(says_to_read(asked(|cluster, _| unhealthy(cluster, DATAPLANE, Some(in_group())))));
}

/// The container whose log is read of a task with health-sync, if it is in this state.
fn read_log(state: ContainerHealth, change: impl FnOnce(&mut InspectedCluster, &mut Background)) -> Option<String> {
    let report = asked(|cluster, background| {
        revision(&mut cluster.tasks[0]).programs.health_sync = Some(HEALTH_SYNC.to_owned());
        described(&mut cluster.tasks[0]).containers.push(container(HEALTH_SYNC, state));
        change(cluster, background);
    });
    report.log.map(|log| log.container)
}

#[test]
fn health_sync_that_writes_no_check_has_its_log_read() {
    let critical = read_log(ContainerHealth::Unknown, |cluster, _| fail_checks(cluster));
    assert_eq!(critical.as_deref(), Some(HEALTH_SYNC));
    assert_eq!(read_log(ContainerHealth::Unknown, |_, _| {}), None);
}

#[test]
fn task_with_one_login_token_has_the_log_of_the_container_without_it_read() {
    let one_token = |_: &mut InspectedCluster, background: &mut Background| {
        background.tokens = Some(tokens([1, 2, 2].map(login_token).to_vec()));
    };
    assert_eq!(read_log(ContainerHealth::Unknown, one_token).as_deref(), Some(DATAPLANE));
    assert_eq!(read_log(ContainerHealth::Unhealthy, one_token).as_deref(), Some(HEALTH_SYNC));
}

#[test]
fn log_of_an_app_is_shown_and_not_interpreted() {
    let report = with_log("app", &["Error: connect ECONNREFUSED: connection refused"]);
    let log = report.log.unwrap();
    assert_eq!((log.lines.len(), log.meaning), (1, None));
    assert!(!report.conclusion.contains("The log of"), "{}", report.conclusion);
}

#[test]
fn message_that_is_no_longer_among_the_last_errors_explains_nothing() {
    let later: Vec<String> = (1..=5).map(|number| format!("[error] number {number}")).collect();
    let lines: Vec<&str> = [REFUSED].into_iter().chain(later.iter().map(String::as_str)).collect();
    let log = with_log(DATAPLANE, &lines).log.unwrap();
    assert_eq!((log.lines.len(), log.meaning), (5, None));
    let log = with_log(DATAPLANE, &lines[..5]).log.unwrap();
    assert!(log.meaning.is_some());
}

#[test]
fn known_message_without_a_word_of_an_error_is_shown() {
    let streams = "[warning] stream closed: 8, too many xDS streams open";
    assert_eq!(shown(DATAPLANE, &["[info] starting", streams, "[info] waiting"]), [streams]);
}

#[test]
fn indented_lines_belong_to_the_line_before_them() {
    let trace =
        ["Error: no port", "    at listen (/app/server.js:3:9)", "\tat start (/app/server.js:9:1)", "[error] exit"];
    let joined = "Error: no port at listen (/app/server.js:3:9) at start (/app/server.js:9:1)";
    assert_eq!(shown("app", &trace), [joined, "[error] exit"]);
    // A log that begins in the middle of a message, and one whose lines are all indented
    assert_eq!(
        shown("app", &["  | <Error>", "[error] one", "[error] two"]),
        [" <Error>", "[error] one", "[error] two"]
    );
    assert_eq!(shown("app", &["  error one", "  error two"]), [" error one", " error two"]);
}

#[test]
fn every_line_that_was_read_is_shown_as_it_is_if_all_are_wanted() {
    let mut report = asked(|cluster, _| unhealthy(cluster, "app", Some(in_group())));
    report.add_log(Ok(events(&["Error: no port", "    at listen (/app/server.js:3:9)"])), true);
    let lines: Vec<String> = report.log.unwrap().lines.into_iter().map(|line| line.text).collect();
    assert_eq!(lines, ["Error: no port", "    at listen (/app/server.js:3:9)"]);
}

#[test]
fn log_without_an_error_shows_its_end() {
    let lines: Vec<String> = (1..=9).map(|number| format!("request {number}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(shown("app", &lines), ["request 5", "request 6", "request 7", "request 8", "request 9"]);
}

#[test]
fn log_that_cannot_be_read_changes_nothing_else() {
    let mut report = asked(|cluster, _| unhealthy(cluster, DATAPLANE, Some(in_group())));
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

/// What is said of the log of the app, before anything is read.
fn unread(log: Option<Log>) -> ContainerLog {
    asked(|cluster, _| unhealthy(cluster, "app", log)).log.unwrap()
}

#[test]
fn log_whose_place_is_not_known_is_not_read_and_the_reason_is_said() {
    let group = |region: Option<&str>, prefix: Option<&str>| {
        let (region, stream_prefix) = (region.map(str::to_owned), prefix.map(str::to_owned));
        Some(Log::CloudWatch(LogGroup { region, stream_prefix, ..log_group() }))
    };
    for (log, problem) in [
        (None, "has no logConfiguration"),
        (Some(Log::Other("awsfirelens".to_owned())), "its log driver is awsfirelens"),
        (Some(Log::Other("splunk".to_owned())), "its log driver is splunk"),
        (Some(Log::Other("awslogs".to_owned())), "awslogs with a log group"),
        (
            group(None, None),
            "sets no awslogs-stream-prefix, so Docker's ID of the container names its stream in log group /ecs/web",
        ),
        (group(Some("evil.example/"), Some("ecs")), "awslogs-region to \"evil.example/\", which is no region"),
    ] {
        let log = unread(log);
        assert_eq!(log.stream, None);
        assert!(log.problem.as_ref().is_some_and(|it| it.contains(problem)), "{log:?}");
    }
    let log = unread(group(Some("eu-west-1"), Some("ecs")));
    assert_eq!((log.stream.unwrap().region.as_deref(), log.problem), (Some("eu-west-1"), None));
}

#[test]
fn healthy_task_has_no_log_to_read() {
    let mut report = asked(|_, _| {});
    report.add_log(Ok(events(&[REFUSED])), false);
    assert_eq!(report.log, None);
}

#[test]
fn secrets_are_hidden_and_ids_are_not() {
    let token = "0b3c5ff2-5a3e-4a0f-9e6c-8b8f7d2f9b11";
    for (line, shown) in [
        (format!("login: SecretID={token}"), "login: SecretID=…".to_owned()),
        (format!("got {token} back"), "got … back".to_owned()),
        (format!("login succeeded: accessorID={token}"), format!("login succeeded: accessorID={token}")),
        ("PASSWORD: hunter22 rejected".to_owned(), "PASSWORD: … rejected".to_owned()),
        (format!("consul-{token} and secret_{token}x"), "consul-… and secret_…x".to_owned()),
        (format!(r#"{{"AccessorID": "{token}"}}"#), format!(r#"{{"AccessorID": "{token}"}}"#)),
        ("token: ab, cab".to_owned(), "token: …, cab".to_owned()),
        (
            "open /consul/service-token: permission denied".to_owned(),
            "open /consul/service-token: permission denied".to_owned(),
        ),
        ("/consul/service-token: permission granted".to_owned(), "/consul/service-token: … granted".to_owned()),
        ("token=hunter22 (hunter22)".to_owned(), "token=… (…)".to_owned()),
        (r#"{"password": "two words", "user": "a"}"#.to_owned(), r#"{"password": "…", "user": "a"}"#.to_owned()),
        ("postgres://web:hunter22@db/web".to_owned(), "postgres://web:…@db/web".to_owned()),
        ("Authorization: Bearer opaque, and more".to_owned(), "Authorization: …, and more".to_owned()),
        ("got eyJhbGciOi.eyJzdWIi.c2ln back".to_owned(), "got … back".to_owned()),
        ("got wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(), "got …".to_owned()),
        (
            "arn:aws:iam::111122223333:role/mesh/Production-WebTaskRole-1A2B3C4D5E6F7 is not trusted".to_owned(),
            "arn:aws:iam::111122223333:role/mesh/Production-WebTaskRole-1A2B3C4D5E6F7 is not trusted".to_owned(),
        ),
        (
            "/go/pkg/mod/hashicorp/consul-dataplane/v2/Internal/bootstrap".to_owned(),
            "/go/pkg/mod/hashicorp/consul-dataplane/v2/Internal/bootstrap".to_owned(),
        ),
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

#[test]
fn lines_control_no_terminal_and_are_not_too_long() {
    for (text, expected) in [
        ("\u{1b}[1;31mERROR\u{1b}[0m it failed\r\n", "ERROR it failed"),
        ("\u{1b}]0;title\u{7}a\u{1b}cb\u{1b}", "ab"),
        ("pass\u{1b}[0mword=hunter22", "password=…"),
        ("one\n\ttwo", "one  two"),
        ("a\u{202e}b\u{8}c", "a\u{fffd}b\u{fffd}c"),
    ] {
        assert_eq!(line(text), expected);
    }
    let long = line(&"0123456789 ".repeat(100_000));
    assert_eq!((long.chars().count(), long.chars().last()), (1_001, Some('…')));
    assert_eq!(line(&"a".repeat(100_000)), "…");
    // A secret at the place where a line is cut is not shown by half
    let token = "0b3c5ff2-5a3e-4a0f-9e6c-8b8f7d2f9b11";
    for before in 3_940..4_000 {
        let hidden = format!("{} {token} {}", "eyJ".to_owned() + &"x".repeat(before), "y".repeat(5_000));
        assert!(!line(&hidden).contains("0b3"), "{before}");
    }
}
