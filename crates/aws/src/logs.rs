//! `CloudWatch` Logs: the lines of a log group that match a pattern, for the history of the controller, and the end of a stream, for
//! what a container said.

use std::{error::Error, time::Duration};

use async_trait::async_trait;
use aws_sdk_cloudwatchlogs::{
    Client,
    config::Builder,
    error::ProvideErrorMetadata,
    operation::{filter_log_events::FilterLogEventsOutput, get_log_events::GetLogEventsOutput},
};
use aws_types::SdkConfig;
use jiff::Timestamp;

use crate::sdk::{describe, timeouts};

/// How long one page may take: a search of a large range takes longer than other calls.
const PAGE_TIME: Duration = Duration::from_secs(30);
/// The most pages of one search. A page without a match may have searched only a part of the range:
/// <https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_FilterLogEvents.html>
const MAX_PAGES: usize = 200;
/// The most lines of one search.
const MAX_LINES: usize = 50_000;
/// The most calls to find the end of a stream: a page may be empty although there are events before it.
/// <https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_GetLogEvents.html>
const MAX_PAGES_OF_STREAM: usize = 10;

/// Why a log group could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LogsError {
    /// There is no such log group.
    #[error("log group {group}: it does not exist")]
    UnknownGroup { group: String },
    /// There is no such stream, or no such log group.
    #[error(
        "log group {group} has no stream {stream}, or does not exist: the container has logged nothing, or the stream was deleted"
    )]
    UnknownStream { group: String, stream: String },
    /// AWS refused the call.
    #[error(
        "log group {group}: CloudWatch Logs refused the call: {reason}. Allow {action} on this log group in the policies of the \
         caller, its boundary and the organisation's policies"
    )]
    Refused { group: String, action: &'static str, reason: String },
    /// The call failed, after retries.
    #[error("log group {group}: the call failed: {reason}")]
    Failed { group: String, reason: String },
    /// The search found more than it may return.
    #[error(
        "log group {group}: the search stopped after {MAX_LINES} lines or {MAX_PAGES} pages. Ask for a shorter time"
    )]
    TooMuch { group: String },
    /// The pages at the end of the stream were empty.
    #[error(
        "log group {group}, stream {stream}: the last {MAX_PAGES_OF_STREAM} pages are empty. Look at it in the console"
    )]
    EmptyPages { group: String, stream: String },
}

impl LogsError {
    /// Why a call failed; `unknown` if CloudWatch Logs does not know what it is about.
    fn of_call(
        group: &str,
        action: &'static str,
        unknown: Self,
        error: &(impl Error + ProvideErrorMetadata + 'static),
    ) -> Self {
        let (group, reason) = (group.to_owned(), describe(error));
        match error.code() {
            Some("ResourceNotFoundException") => unknown,
            Some("AccessDeniedException") => Self::Refused { group, action, reason },
            _ => Self::Failed { group, reason },
        }
    }
}

/// A line of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEvent {
    /// When it was logged, as the log driver says.
    pub at: Timestamp,
    pub text: String,
}

/// Reads log groups.
#[async_trait]
pub trait Logs: Send + Sync {
    /// The lines of a log group since a time that match a
    /// [filter pattern](https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html), all of them.
    async fn lines(&self, group: &str, pattern: &str, since: Timestamp) -> Result<Vec<LogEvent>, LogsError>;

    /// The last lines of a stream, at most so many, oldest first. One call, and another one for each empty page.
    async fn last_lines(&self, group: &str, stream: &str, most: u16) -> Result<Vec<LogEvent>, LogsError>;
}

/// The log groups of an account and region.
pub struct AwsLogs(Client);

impl AwsLogs {
    /// The log groups in the configuration's region.
    pub fn new(config: &SdkConfig) -> Self {
        Self(Client::from_conf(Builder::from(config).timeout_config(timeouts(PAGE_TIME, None)).build()))
    }

    async fn page(
        &self,
        group: &str,
        pattern: &str,
        since: Timestamp,
        token: Option<String>,
    ) -> Result<FilterLogEventsOutput, LogsError> {
        let call = self.0.filter_log_events().log_group_name(group).filter_pattern(pattern);
        let call = call.start_time(since.as_millisecond()).set_next_token(token);
        let unknown = LogsError::UnknownGroup { group: group.to_owned() };
        call.send().await.map_err(|error| LogsError::of_call(group, "logs:FilterLogEvents", unknown, &error))
    }

    /// A page of a stream: its end, or what is before a token.
    async fn page_of_stream(
        &self,
        group: &str,
        stream: &str,
        most: u16,
        token: Option<String>,
    ) -> Result<GetLogEventsOutput, LogsError> {
        let call = self.0.get_log_events().log_group_name(group).log_stream_name(stream);
        let call = call.start_from_head(false).limit(most.into()).set_next_token(token);
        let unknown = LogsError::UnknownStream { group: group.to_owned(), stream: stream.to_owned() };
        call.send().await.map_err(|error| LogsError::of_call(group, "logs:GetLogEvents", unknown, &error))
    }
}

#[async_trait]
impl Logs for AwsLogs {
    async fn lines(&self, group: &str, pattern: &str, since: Timestamp) -> Result<Vec<LogEvent>, LogsError> {
        let (mut lines, mut token) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            let page = self.page(group, pattern, since, token.take()).await?;
            lines.extend(page.events().iter().filter_map(|event| read(event.timestamp(), event.message())));
            token = page.next_token().map(str::to_owned);
            if lines.len() >= MAX_LINES {
                break;
            }
            if token.is_none() {
                return Ok(lines);
            }
        }
        Err(LogsError::TooMuch { group: group.to_owned() })
    }

    async fn last_lines(&self, group: &str, stream: &str, most: u16) -> Result<Vec<LogEvent>, LogsError> {
        let mut token = None;
        for _ in 0..MAX_PAGES_OF_STREAM {
            let page = self.page_of_stream(group, stream, most, token.clone()).await?;
            let before = page.next_backward_token().map(str::to_owned);
            // The token of the request says that nothing is before it.
            if !page.events().is_empty() || before.is_none() || before == token {
                return Ok(page.events().iter().filter_map(|event| read(event.timestamp(), event.message())).collect());
            }
            token = before;
        }
        Err(LogsError::EmptyPages { group: group.to_owned(), stream: stream.to_owned() })
    }
}

/// An event of an answer, if it has a time and a text.
fn read(milliseconds: Option<i64>, message: Option<&str>) -> Option<LogEvent> {
    Some(LogEvent { at: Timestamp::from_millisecond(milliseconds?).ok()?, text: message?.to_owned() })
}
