//! The `task-events` function: an SQS batch, or one event without a queue.

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use lambda_runtime::{Diagnostic, LambdaEvent};
use observe::Deadline;
use serde::Deserialize;
use serde_json::{Value, json};

use controller::{Controller, Delivery};
use lambda::{diagnostic, remaining};

/// Handles an SQS batch, with partial failures, or one `EventBridge` event.
///
/// # Errors
/// The work of a single event failed, or the payload has neither format.
pub async fn task_events(controller: &Controller, event: LambdaEvent<Value>) -> Result<Value, Diagnostic> {
    let deadline = Deadline::after(remaining(&event.context));
    if event.payload.get("Records").is_some() {
        let batch = SqsEvent::deserialize(event.payload)
            .map_err(|e| diagnostic("invalid", format!("payload: not an SQS batch: {e}")))?;
        let deliveries: Vec<Delivery> = batch.records.into_iter().map(delivery).collect();
        let report = controller.handle(&deliveries, deadline).await;
        let mut answer = SqsBatchResponse::default();
        answer.set_failures(report.failures.into_iter().map(|failure| failure.id));
        return Ok(json!(answer));
    }
    let delivery =
        Delivery { id: event.context.request_id, receipt: None, receives: 1, body: event.payload.to_string() };
    let report = controller.handle(&[delivery], deadline).await;
    match (report.failures.first(), report.faults.first()) {
        (Some(failure), _) => Err(diagnostic(failure.error.label().as_str(), failure.error.to_string())),
        (None, Some(fault)) => Ok(json!({ "outcome": "skipped", "reason": fault.error.to_string() })),
        (None, None) => Ok(json!({ "outcome": "done" })),
    }
}

fn delivery(message: SqsMessage) -> Delivery {
    let receives = message.attributes.get("ApproximateReceiveCount").and_then(|receives| receives.parse().ok());
    Delivery {
        id: message.message_id.unwrap_or_default(),
        receipt: message.receipt_handle,
        receives: receives.unwrap_or(1),
        body: message.body.unwrap_or_default(),
    }
}
