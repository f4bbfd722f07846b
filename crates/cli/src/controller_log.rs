//! The controller's history: the log groups of a stack.

use std::time::Duration;

use aws::{installation::AwsInstallation, logs::AwsLogs, sdk::SdkConfig};
use clap::Args;
use diagnosis::{History, Wanted};
use jiff::Timestamp;

use crate::{by_hand::StackArguments, span};

/// The log groups in the template. That of the audit says nothing of a single task: its revision is audited again.
const LOG_GROUPS: [&str; 2] = ["TaskEventsLogGroup", "ReconcileLogGroup"];

/// Which history is read
#[derive(Debug, Args)]
pub(super) struct HistoryArguments {
    /// How far back the log is read: 30m, 24h, 7d
    #[arg(long, value_name = "SPAN", default_value = "24h", value_parser = span::parse)]
    since: Duration,
    #[command(flatten)]
    stack: StackArguments,
}

impl HistoryArguments {
    /// The name of the stack.
    pub(super) fn stack(&self) -> &str {
        &self.stack.stack
    }

    /// Since when the log is read.
    pub(super) fn since(&self, now: Timestamp) -> Timestamp {
        now.checked_sub(self.since).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Reads the log. What could not be read is a problem of the history.
    pub(super) async fn read(&self, sdk: &SdkConfig, wanted: Wanted<'_>, since: Timestamp) -> History {
        let unread = |why: String| History::unread(format!("the controller's history could not be read: {why}"));
        let resources = match AwsInstallation::new(sdk).resources(self.stack()).await {
            Ok(resources) => resources,
            Err(error) => return unread(format!("{error}; --stack names another stack")),
        };
        let groups = LOG_GROUPS.iter().filter_map(|name| resources.get(*name));
        let groups: Vec<String> = groups.map(|group| group.id.clone()).collect();
        if groups.is_empty() {
            return unread(format!("the stack {} has none of the functions' log groups", self.stack()));
        }
        History::read(&AwsLogs::new(sdk), &groups, wanted, since).await
    }
}
