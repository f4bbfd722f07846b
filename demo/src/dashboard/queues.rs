//! The metrics of queues, which AWS would count:
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html>

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    time::Duration,
};

use jiff::Timestamp;
use local_stack::aws::{ACCOUNT, Aws};
use serde_json::{Value, json};

use super::{
    body::{Dashboard, QUEUE, Source},
    metrics::Recorded,
};

/// The pause between two readings.
const PAUSE: Duration = Duration::from_millis(250);

/// The queues of a dashboard.
pub(super) struct Queues<'a> {
    aws: &'a Aws,
    names: BTreeSet<String>,
}

impl<'a> Queues<'a> {
    pub(super) fn of(aws: &'a Aws, dashboard: &Dashboard) -> Self {
        let lines = dashboard.widgets.iter().flat_map(|widget| &widget.lines);
        let dimensions = lines.flat_map(|line| match &line.source {
            Source::Metric(metric) => metric.dimensions.clone(),
            Source::Quotient(..) | Source::OfAws => Vec::new(),
        });
        let names = dimensions.filter(|(name, _)| name == QUEUE).map(|(_, value)| value).collect();
        Self { aws, names }
    }

    /// Reads the queues again and again.
    pub(super) async fn record(&self, recorded: &mut Recorded) -> Infallible {
        let mut arrived = BTreeMap::new();
        loop {
            for name in &self.names {
                let messages = self.aws.messages(&format!("{}/{ACCOUNT}/{name}", self.aws.endpoint)).await;
                let now = Timestamp::now().as_millisecond();
                let visible = messages.iter().filter(|message| message["IsVisible"] == true).count();
                let age = |message: &Value| now - *arrived.entry(message["MessageId"].to_string()).or_insert(now);
                let oldest = messages.iter().map(age).max().unwrap_or(0);
                recorded.add(json!({
                    "_aws": { "Timestamp": now, "CloudWatchMetrics": [{ "Dimensions": [[QUEUE]] }] },
                    QUEUE: name,
                    "ApproximateNumberOfMessagesVisible": visible,
                    "ApproximateAgeOfOldestMessage": oldest / 1000,
                }));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}
