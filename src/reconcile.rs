//! The `reconcile` function: sweeps, and the template's custom resource.

use std::error::Error;

use lambda_runtime::{Diagnostic, LambdaEvent};
use observe::{Deadline, SweepCause, SweepOrder};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::custom_resource::{self, CloudFormation};
use aws::ecs::{ApiCall, parse_api_call_event};
use controller::Controller;
use lambda::{diagnostic, remaining};
use mesh::names::{InvalidField, shortened};
use report::{ReconcileOrder, SweepOutcome};

/// The longest summary in an answer, in bytes: Lambda accepts 6 MB.
const LONGEST_ANSWER: usize = 5_000_000;
/// The longest summary in an error, which also has the reasons, and is a line of the log: `CloudWatch` accepts 256 KB.
const LONGEST_ERROR: usize = 100_000;

/// Handles an invocation. The controller is an `Err` if the settings are invalid.
///
/// # Errors
/// The payload is invalid, the settings are invalid, or something could not be read or written: then the message
/// contains the summary, and Lambda raises the alarm.
pub async fn reconcile<E: Error>(
    controller: Result<&Controller, E>,
    cloud_formation: &dyn CloudFormation,
    event: LambdaEvent<Value>,
) -> Result<Value, Diagnostic> {
    let left = remaining(&event.context);
    if event.payload.get("RequestType").is_some() {
        let request = custom_resource::Request::deserialize(event.payload).map_err(|e| not_a_request(&e))?;
        let answered = custom_resource::handle(controller, cloud_formation, request, left).await;
        return answered.map_err(|error| diagnostic("custom_resource", error.to_string()));
    }
    let controller = controller.map_err(|error| diagnostic("refused_to_start", error.to_string()))?;
    let deadline = Deadline::after(left);
    if let Some(call) = parse_api_call_event(&event.payload) {
        return match call.map_err(|e| invalid(&e))? {
            Some(ApiCall::ClusterDeleted(cluster)) if controller.manages(&cluster) => {
                let (clusters, cause) = (vec![cluster.clone()], SweepCause::ClusterDeleted(cluster));
                let order = SweepOrder { clusters, cause, ..SweepOrder::default() };
                sweep(controller, &order, deadline).await
            }
            _ => Ok(json!({ "outcome": "ignored" })),
        };
    }
    let text = event.payload.to_string();
    let order = ReconcileOrder::deserialize(event.payload).map_err(|e| {
        let expected = r#"{"clusters": ["<ARN>"], "dryRun": true, "force": true} (each optional), or {"check": true}"#;
        let invalid = InvalidField::new("payload", &text, expected);
        diagnostic("invalid", format!("{invalid}: {}", shortened(&e.to_string())))
    })?;
    let order = match order {
        ReconcileOrder::Check => return Ok(json!(controller.check(deadline).await)),
        ReconcileOrder::ScheduledSweep => SweepOrder { cause: SweepCause::Schedule, ..SweepOrder::default() },
        ReconcileOrder::Sweep { clusters, dry_run, force } => {
            let cluster = |arn: &String| arn.parse().map_err(|e: InvalidField| invalid(&e.in_field("clusters")));
            let clusters = clusters.iter().map(cluster).collect::<Result<_, _>>()?;
            SweepOrder { clusters, dry_run, force, ..SweepOrder::default() }
        }
    };
    sweep(controller, &order, deadline).await
}

async fn sweep(controller: &Controller, order: &SweepOrder, deadline: Deadline) -> Result<Value, Diagnostic> {
    let report = controller.sweep(order, deadline).await;
    if report.outcome == SweepOutcome::Incomplete {
        let report = report.within(LONGEST_ERROR);
        let summary = json!(report);
        let reasons = custom_resource::reasons(&report.problems);
        return Err(diagnostic("incomplete", format!("{reasons}\n{summary}")));
    }
    Ok(json!(report.within(LONGEST_ANSWER)))
}

fn not_a_request(error: &serde_json::Error) -> Diagnostic {
    diagnostic("invalid", format!("payload: not a request of CloudFormation: {}", shortened(&error.to_string())))
}

fn invalid(error: &InvalidField) -> Diagnostic {
    diagnostic("invalid", error.to_string())
}
