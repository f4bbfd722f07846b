//! The `task-events` function: an SQS batch, or one event without a queue.

use lambda_runtime::{Diagnostic, LambdaEvent};
use serde::Deserialize;
use serde_json::{Value, json};

use controller::{Controller, Deadline, Delivery};
use lambda::{diagnostic, remaining};

/// A batch of messages, as far as it is read here. Source: <https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html>
#[derive(Deserialize)]
struct SqsBatch {
    #[serde(rename = "Records")]
    records: Vec<SqsMessage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SqsMessage {
    message_id: Option<String>,
    receipt_handle: Option<String>,
    body: Option<String>,
    attributes: Option<Attributes>,
}

#[derive(Deserialize)]
struct Attributes {
    /// How often SQS has delivered the message, as text.
    #[serde(rename = "ApproximateReceiveCount")]
    receives: Option<String>,
}

/// Handles an SQS batch, with partial failures, or one `EventBridge` event.
///
/// # Errors
/// The work of a single event failed, or the payload has neither format.
pub async fn task_events(controller: &Controller, event: LambdaEvent<Value>) -> Result<Value, Diagnostic> {
    let deadline = Deadline::after(remaining(&event.context));
    if event.payload.get("Records").is_some() {
        let batch = SqsBatch::deserialize(event.payload)
            .map_err(|e| diagnostic("invalid", format!("payload: not an SQS batch: {e}")))?;
        let deliveries: Vec<Delivery> = batch.records.into_iter().map(delivery).collect();
        let report = controller.handle(&deliveries, deadline).await;
        let failed: Vec<Value> =
            report.failures.iter().map(|failure| json!({ "itemIdentifier": failure.id })).collect();
        return Ok(json!({ "batchItemFailures": failed }));
    }
    let delivery =
        Delivery { id: event.context.request_id, receipt: None, receives: 1, body: event.payload.to_string() };
    match controller.handle(&[delivery], deadline).await.failures.into_iter().next() {
        Some(failure) => Err(diagnostic(failure.error.label().as_str(), failure.error.to_string())),
        None => Ok(json!({ "outcome": "done" })),
    }
}

fn delivery(message: SqsMessage) -> Delivery {
    let receives = message.attributes.and_then(|attributes| attributes.receives?.parse().ok());
    Delivery {
        id: message.message_id.unwrap_or_default(),
        receipt: message.receipt_handle,
        receives: receives.unwrap_or(1),
        body: message.body.unwrap_or_default(),
    }
}
