//! The `reconcile` function: sweeps, and the template's custom resource.

use std::{error::Error, time::Duration};

use lambda_runtime::{Diagnostic, LambdaEvent};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::custom_resource;
use aws::ecs::{ApiCall, parse_api_call_event};
use controller::{Controller, Deadline, SweepOrder};
use lambda::{diagnostic, remaining};
use mesh::{arn::ClusterArn, names::InvalidField};
use report::{ReconcileOrder, SweepOutcome};

/// The time reserved for the answer to `CloudFormation`.
const TIME_TO_ANSWER: Duration = Duration::from_secs(20);

/// Handles an invocation. The controller is an `Err` if the settings are invalid.
///
/// # Errors
/// The payload is invalid, the settings are invalid, or something could not be read or written: then the message
/// contains the summary, and Lambda retries and raises the alarm.
pub async fn reconcile<E: Error>(
    controller: Result<&Controller, E>,
    event: LambdaEvent<Value>,
) -> Result<Value, Diagnostic> {
    let left = remaining(&event.context);
    if event.payload.get("RequestType").is_some() {
        let request = custom_resource::Request::deserialize(event.payload)
            .map_err(|e| diagnostic("invalid", format!("payload: not a request of CloudFormation: {e}")))?;
        let deadline = Deadline::after(left.saturating_sub(TIME_TO_ANSWER));
        let answered = custom_resource::handle(controller, request, deadline).await;
        return answered.map_err(|error| diagnostic("custom_resource", error.to_string()));
    }
    let controller = controller.map_err(|error| diagnostic("refused_to_start", error.to_string()))?;
    let deadline = Deadline::after(left);
    if let Some(call) = parse_api_call_event(&event.payload) {
        return match call.map_err(|e| invalid(&e))? {
            Some(ApiCall::ClusterDeleted(cluster)) if controller.manages(&cluster) => {
                let order =
                    SweepOrder { clusters: vec![cluster.clone()], deleted: Some(cluster), ..SweepOrder::default() };
                sweep(controller, &order, deadline).await
            }
            _ => Ok(json!({ "outcome": "ignored" })),
        };
    }
    let text = event.payload.to_string();
    let order = ReconcileOrder::deserialize(event.payload).map_err(|e| {
        let expected = r#"{"clusters": ["<ARN>"], "dryRun": true, "force": true} or {"check": true} (each optional)"#;
        diagnostic("invalid", format!("payload: got {text}, expected {expected}: {e}"))
    })?;
    if order.check {
        return Ok(json!(controller.check(deadline).await));
    }
    if order.health_sync || order.delete_unused_secrets {
        return Ok(json!({ "outcome": "ignored" }));
    }
    let clusters: Result<Vec<ClusterArn>, InvalidField> =
        order.clusters.iter().map(|arn| arn.parse().map_err(|e: InvalidField| e.in_field("clusters"))).collect();
    let order = SweepOrder {
        clusters: clusters.map_err(|e| invalid(&e))?,
        dry_run: order.dry_run,
        force: order.force,
        is_scheduled: order.scheduled,
        ..SweepOrder::default()
    };
    sweep(controller, &order, deadline).await
}

async fn sweep(controller: &Controller, order: &SweepOrder, deadline: Deadline) -> Result<Value, Diagnostic> {
    let report = controller.sweep(order, deadline).await;
    let summary = json!(report);
    if report.outcome == SweepOutcome::Incomplete {
        let reasons = custom_resource::reasons(&report.problems);
        return Err(diagnostic("incomplete", format!("{reasons}\n{summary}")));
    }
    Ok(summary)
}

fn invalid(error: &InvalidField) -> Diagnostic {
    diagnostic("invalid", error.to_string())
}
