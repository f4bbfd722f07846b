//! The log of the functions: which part a command reads.

use std::time::Duration;

use aws::{installation::AwsInstallation, logs::AwsLogs, sdk::SdkConfig};
use clap::Args;
use jiff::Timestamp;
use observe::{History, Wanted};

use crate::installation::{DEFAULT_STACK, Installation, StackArguments};

/// The log groups in the template that have lines about tasks. The audit has none: `why` audits the revision again.
const LOG_GROUPS: [&str; 2] = ["TaskEventsLogGroup", "ReconcileLogGroup"];

/// Which history is read
#[derive(Debug, Args)]
pub(super) struct HistoryArguments {
    /// Read the log this far back: 30m, 24h, 7d
    #[arg(long, value_name = "SPAN", default_value = "24h", value_parser = span)]
    since: Duration,
    #[command(flatten)]
    stack: StackArguments,
}

impl HistoryArguments {
    pub(super) fn stack(&self) -> &str {
        &self.stack.stack
    }

    /// Whether another stack was named than the usual one. A user of another controller names none.
    pub(super) fn names_a_stack(&self) -> bool {
        self.stack() != DEFAULT_STACK
    }

    /// The note about a stack that does not exist.
    pub(super) fn missing_stack(&self, installation: &Installation) -> Option<String> {
        let stack = self.stack();
        let said = || {
            format!(
                "there is no stack {stack}, so no log says what a controller did. Pass --stack to name another stack"
            )
        };
        installation.is_absent().then(said)
    }

    pub(super) fn since(&self, now: Timestamp) -> Timestamp {
        now.checked_sub(self.since).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Reads the log. What could not be read is a problem of the history.
    pub(super) async fn read(&self, sdk: &SdkConfig, wanted: Wanted<'_>, since: Timestamp) -> History {
        let unread = |why: String| History::unread(format!("the controller's history could not be read: {why}"));
        let resources = match AwsInstallation::new(sdk).resources(self.stack()).await {
            Ok(resources) => resources,
            Err(error) => return unread(format!("{error}. Pass --stack to name another stack")),
        };
        let groups = LOG_GROUPS.iter().filter_map(|name| resources.get(*name));
        let groups: Vec<String> = groups.map(|group| group.id.clone()).collect();
        if groups.is_empty() {
            return unread(format!("stack {} has no log groups of the functions", self.stack()));
        }
        History::read(&AwsLogs::new(sdk), &groups, wanted, since).await
    }
}

/// The longest span: CloudWatch Logs keeps lines for at most ten years.
const LONGEST_DAYS: u64 = 3_653;

fn span(text: &str) -> Result<Duration, String> {
    let refused =
        || format!("{text:?}: expected a number with a unit, such as 30m, 24h or 7d, up to {LONGEST_DAYS} days");
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(refused)?;
    let number: u64 = number.parse().map_err(|_| refused())?;
    let seconds = match unit {
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(refused()),
    };
    let span = number.checked_mul(seconds).filter(|span| (1..=LONGEST_DAYS * 86_400).contains(span));
    span.map(Duration::from_secs).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_has_a_number_and_a_unit() {
        for (text, seconds) in [("30m", 1_800), ("24h", 86_400), ("7d", 604_800)] {
            assert_eq!(span(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "24", "h", "-1h", "0h", "1w", "1 h", "4000d", "99999999999999999999h", "24ü"] {
            assert!(span(text).is_err(), "{text}");
        }
    }
}
