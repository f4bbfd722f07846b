//! The log of the container that a conclusion names: its last errors without secrets, and what the programs of the mesh mean by them.

mod messages;
mod redaction;

use jiff::Timestamp;
use observe::{LogEvent, LogsError};
use serde::Serialize;

#[cfg(test)]
pub(super) use self::messages::KNOWN_MESSAGES;
pub(super) use self::redaction::without_secrets;
use super::WhyReport;

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
    /// The log group.
    pub group: String,
    /// The region of the log group; null if the definition does not say it.
    pub region: Option<String>,
    /// The stream in the group.
    pub stream: String,
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

/// A line of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LoggedLine {
    /// When CloudWatch Logs got it.
    pub at: Timestamp,
    /// The line.
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
    /// A log that is not read yet.
    pub(crate) fn unread(
        container: &str,
        group: String,
        region: Option<String>,
        stream: String,
        is_of_the_mesh: bool,
    ) -> Self {
        let container = container.to_owned();
        Self { container, group, region, stream, lines: Vec::new(), meaning: None, problem: None, is_of_the_mesh }
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
        log.meaning = log.is_of_the_mesh.then(|| messages::meaning(&events)).flatten();
        if let Some(Meaning { sentence, .. }) = log.meaning {
            self.conclusion = format!("{}. The log of {} says why: {sentence}", self.conclusion, log.container);
        }
        let shown = if shows_all { events } else { last_errors(events) };
        let line = |event: LogEvent| LoggedLine { at: event.at, text: without_secrets(event.text.trim_end()) };
        log.lines = shown.into_iter().map(line).collect();
    }
}

/// The last lines about errors, or the last lines.
fn last_errors(mut events: Vec<LogEvent>) -> Vec<LogEvent> {
    let is_error = |event: &LogEvent| {
        let text = event.text.to_ascii_lowercase();
        ERRORS.iter().any(|word| text.contains(word))
    };
    if events.iter().any(is_error) {
        events.retain(is_error);
    }
    events.split_off(events.len().saturating_sub(SHOWN))
}
