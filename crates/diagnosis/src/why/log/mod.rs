//! The log of the container that a conclusion names: its last errors without secrets, and what the programs of the mesh mean by them.

mod lines;
mod messages;

use std::fmt;

use jiff::Timestamp;
use observe::{LogEvent, LogsError};
use serde::Serialize;

use self::messages::meaning;
#[cfg(test)]
pub(super) use self::messages::{KNOWN_MESSAGES, KnownMessage};
use super::WhyReport;
use crate::redaction;

/// How many lines are shown, unless all that were read are wanted.
const SHOWN: usize = 5;

/// How the lines of errors look, in lower case: of Go's, Envoy's and the usual loggers of apps.
const ERRORS: [&str; 8] = ["error", "[err]", "critical", "fatal", "panic", "exception", "fail", "rejected"];

/// The log of the container that the conclusion names, in CloudWatch Logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContainerLog {
    /// The name of the container.
    pub container: String,
    /// Where it is in CloudWatch Logs; null if it is not there, or if that is not known.
    pub stream: Option<LogStream>,
    /// Its last errors, or its last lines if none is an error; oldest first. Secrets are left out.
    pub lines: Vec<LoggedLine>,
    /// What the last known message means; null if none is known.
    pub meaning: Option<Meaning>,
    /// Why it could not be read; null if it was.
    pub problem: Option<String>,
    /// Whether a program of the mesh runs in it, whose messages are known.
    #[serde(skip)]
    pub is_of_the_mesh: bool,
}

/// A stream in CloudWatch Logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LogStream {
    /// The log group.
    pub group: String,
    /// The region of the log group; null if the definition does not say it.
    pub region: Option<String>,
    /// The name of the stream.
    pub name: String,
}

impl fmt::Display for LogStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "its log (log group {}, stream {})", self.group, self.name)
    }
}

/// A line of a log, with the lines that continue it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LoggedLine {
    /// When it was logged.
    pub at: Timestamp,
    /// The line, or its beginning: without secrets, colours and control characters.
    pub text: String,
}

/// What a message of a program of the mesh means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Meaning {
    /// The cause and what to do, in one or two sentences.
    pub sentence: &'static str,
    /// Where the program has the message.
    pub source: &'static str,
}

impl ContainerLog {
    /// A log that is not read yet, or why it cannot be.
    pub(crate) fn unread(container: &str, stream: Result<LogStream, String>, is_of_the_mesh: bool) -> Self {
        let (stream, problem) = match stream {
            Ok(stream) => (Some(stream), None),
            Err(problem) => (None, Some(problem)),
        };
        Self { container: container.to_owned(), stream, lines: Vec::new(), meaning: None, problem, is_of_the_mesh }
    }
}

impl WhyReport {
    /// Adds what was read of its log: the last errors, or every line. The conclusion says what a known message means.
    pub fn add_log(&mut self, answer: Result<Vec<LogEvent>, LogsError>, shows_all: bool) {
        let Some(log) = &mut self.log else { return };
        let events = match answer {
            Ok(events) => events,
            Err(error) => {
                log.problem = Some(error.to_string());
                return;
            }
        };
        let lines = lines::joined(&events);
        let errors = last_errors(&lines);
        log.meaning = log.is_of_the_mesh.then(|| errors.iter().rev().find_map(|event| meaning(&event.text))).flatten();
        if let Some(stream) = log.stream.as_ref().filter(|_| !events.is_empty()) {
            self.conclusion = without_advice(&self.conclusion, stream);
        }
        if let Some(Meaning { sentence, .. }) = log.meaning {
            self.conclusion = format!("{}. The log of {} says: {sentence}", self.conclusion, log.container);
        }
        let shown = if shows_all { events.iter().collect() } else { errors };
        log.lines =
            shown.into_iter().map(|event| LoggedLine { at: event.at, text: redaction::line(&event.text) }).collect();
    }
}

/// A conclusion without the advice to read a log, which was read.
fn without_advice(conclusion: &str, stream: &LogStream) -> String {
    let Some((before, after)) = conclusion.split_once(&format!("Read {stream}")) else { return conclusion.to_owned() };
    let next = after.trim_start_matches([',', ' ']);
    let next = next.strip_prefix("and ").unwrap_or(next);
    let (first, rest) = next.split_at(next.chars().next().map_or(0, char::len_utf8));
    format!("{before}{}{rest}", first.to_uppercase())
}

/// The last lines about errors, or the last lines.
fn last_errors(events: &[LogEvent]) -> Vec<&LogEvent> {
    let errors: Vec<&LogEvent> = events.iter().filter(|event| is_error(&event.text)).collect();
    let mut last = if errors.is_empty() { events.iter().collect() } else { errors };
    last.split_off(last.len().saturating_sub(SHOWN))
}

fn is_error(text: &str) -> bool {
    let in_lower_case = text.to_ascii_lowercase();
    ERRORS.iter().any(|word| in_lower_case.contains(word)) || meaning(text).is_some()
}
