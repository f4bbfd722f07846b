//! The history of the controller: what the functions have logged of a task, a service, or everything that was observed.

use aws::logs::Logs;
use futures::future::join_all;
use jiff::Timestamp;
use mesh::arn::TaskId;
use report::{LogAction, LogLine, LogOutcome};

/// Which lines are asked for.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// Those of a task.
    Task(&'a TaskId),
    /// Those of a service, and of failed messages.
    Service(&'a str),
    /// What was planned in mode `observe`, and its sweeps; not the single calls.
    Observed,
}

impl Wanted<'_> {
    /// The pattern of `FilterLogEvents`. It may select more than is wanted:
    /// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html>
    fn pattern(self) -> String {
        match self {
            Self::Task(id) => {
                let guard = LogOutcome::GuardTripped.as_str();
                format!(r#"{{ $.task_id = "*{id}*" || $.last_task = "*{id}" || $.outcome = "{guard}" }}"#)
            }
            Self::Service(name) => format!(
                r#"{{ $.service = "{name}" || $.service = "*{name}-sidecar-proxy*" || $.holder = "service {name}" || $.holder = "service {name} *" || $.action = "{}" || $.outcome = "{}" || $.outcome = "{}" }}"#,
                LogAction::DeleteLoginToken.as_str(),
                LogOutcome::Failed.as_str(),
                LogOutcome::GuardTripped.as_str(),
            ),
            Self::Observed => format!(
                r#"{{ $.outcome = "{}" && $.action != "{}" }}"#,
                LogOutcome::Observed.as_str(),
                LogAction::Observe.as_str()
            ),
        }
    }

    fn includes(self, line: &LogLine) -> bool {
        let is_guard = line.has(&LogOutcome::GuardTripped);
        match self {
            Self::Task(id) => is_guard || line.is_of_task(id),
            // The line of a login token has no service, only its task.
            Self::Service(name) => {
                let is_any = line.has(&LogOutcome::Failed) || line.is(&LogAction::DeleteLoginToken);
                is_guard || is_any || line.is_of_service(name)
            }
            Self::Observed => line.has(&LogOutcome::Observed) && !line.is(&LogAction::Observe),
        }
    }
}

/// What was found in the log.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// The lines, oldest first.
    pub lines: Vec<LogLine>,
    /// Whether all log groups could be read: else a line that is not here may have been written.
    pub is_complete: bool,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}

impl History {
    /// A history that could not be read.
    pub fn unread(reason: impl Into<String>) -> Self {
        Self { lines: Vec::new(), is_complete: false, problems: vec![reason.into()] }
    }

    /// Reads log groups since a time. `CloudWatch` Logs filters the lines, and they are filtered again here.
    pub async fn read(logs: &dyn Logs, groups: &[String], wanted: Wanted<'_>, since: Timestamp) -> Self {
        let pattern = wanted.pattern();
        let answers = join_all(groups.iter().map(|group| logs.lines(group, &pattern, since))).await;
        let mut history = Self { is_complete: true, ..Self::default() };
        for answer in answers {
            match answer {
                Ok(lines) => {
                    let lines = lines
                        .iter()
                        .filter_map(|line| LogLine::parse(&line.text, line.at))
                        .filter(|line| line.at >= since);
                    history.lines.extend(lines.filter(|line| wanted.includes(line)));
                }
                Err(error) => {
                    history.is_complete = false;
                    history.problems.push(format!("the controller's history could not be read: {error}"));
                }
            }
        }
        history.lines.sort_by_key(|line| line.at);
        history
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use aws::logs::{LogEvent as Logged, LogsError};

    use super::*;

    /// A log group that applies no pattern.
    #[derive(Default)]
    struct Unfiltered {
        lines: Vec<&'static str>,
        asked: Mutex<Vec<String>>,
    }

    #[async_trait]
    impl Logs for Unfiltered {
        async fn lines(&self, group: &str, pattern: &str, since: Timestamp) -> Result<Vec<Logged>, LogsError> {
            if group == "denied" {
                return Err(LogsError::Failed { group: group.to_owned(), reason: "AccessDenied".to_owned() });
            }
            self.asked.lock().unwrap().push(pattern.to_owned());
            Ok(self.lines.iter().map(|text| Logged { at: since, text: (*text).to_owned() }).collect())
        }

        async fn last_lines(&self, group: &str, stream: &str, _: u16) -> Result<Vec<Logged>, LogsError> {
            Err(LogsError::UnknownStream { group: group.to_owned(), stream: stream.to_owned() })
        }
    }

    async fn read(logs: &Unfiltered, groups: &[&str], wanted: Wanted<'_>) -> History {
        let groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
        History::read(logs, &groups, wanted, Timestamp::UNIX_EPOCH).await
    }

    #[tokio::test]
    async fn lines_are_filtered_by_the_pattern_and_again_here() {
        let id: TaskId = "00000000000000000000000000000001".parse().unwrap();
        let lines = vec![
            r#"{"timestamp":"2026-11-23T12:00:01Z","action":"deregister","outcome":"done","task_id":"00000000000000000000000000000001"}"#,
            r#"{"timestamp":"2026-11-23T12:00:00Z","action":"sweep","outcome":"guard_tripped","cluster_arn":"x"}"#,
            r#"{"timestamp":"2026-11-23T12:00:02Z","action":"deregister","outcome":"done","task_id":"00000000000000000000000000000002"}"#,
        ];
        let logs = Unfiltered { lines, ..Unfiltered::default() };
        let history = read(&logs, &["task-events"], Wanted::Task(&id)).await;
        let actions: Vec<LogAction> = history.lines.iter().filter_map(|line| line.action.clone()).collect();
        assert_eq!((actions, history.is_complete), (vec![LogAction::Sweep, LogAction::Deregister], true));
        let pattern = format!(r#"{{ $.task_id = "*{id}*" || $.last_task = "*{id}" || $.outcome = "guard_tripped" }}"#);
        assert_eq!(*logs.asked.lock().unwrap(), [pattern]);
    }

    #[tokio::test]
    async fn group_that_cannot_be_read_is_a_problem_and_the_others_are_read() {
        let logs = Unfiltered {
            lines: vec![r#"{"action":"revoke","outcome":"done","holder":"service web"}"#],
            ..Unfiltered::default()
        };
        let history = read(&logs, &["denied", "reconcile"], Wanted::Service("web")).await;
        assert_eq!((history.lines.len(), history.is_complete), (1, false));
        let expected = "the controller's history could not be read: log group denied: the call failed: AccessDenied";
        assert_eq!(history.problems, [expected]);
    }
}
