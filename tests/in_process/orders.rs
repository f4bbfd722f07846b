//! Orders to `reconcile` that are invalid or too long to be answered in full.

use std::time::{SystemTime, UNIX_EPOCH};

use ecs_mesh_controller::{reconcile::reconcile, wiring::StartError};
use lambda_runtime::{Context, Diagnostic, LambdaEvent};
use serde_json::{Value, json};
use simulation::{deployments::Formation, direct::Direct};

use crate::time::LONG;

async fn refused(payload: Value) -> Diagnostic {
    let mut context = Context::default();
    let end = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + LONG;
    context.deadline = u64::try_from(end.as_millis()).unwrap();
    let direct = Direct::with_leftovers();
    let (controller, formation) = (direct.controller(), Formation::default());
    let invoked = reconcile(Ok::<_, StartError>(&controller), &formation, LambdaEvent::new(payload, context));
    direct.serve(Box::pin(invoked)).await.expect_err("it is refused")
}

#[tokio::test]
async fn invalid_payload_is_shown_in_part() {
    let long = "x".repeat(100_000);
    for payload in [json!({ "clusters": long }), json!({ (long.clone()): true }), json!({ "RequestType": long })] {
        let refused = refused(payload).await;
        assert_eq!(refused.error_type, "invalid");
        assert!(refused.error_message.len() < 1_000, "{}", refused.error_message.len());
        assert!(refused.error_message.starts_with("payload: "), "{}", refused.error_message);
    }
}

/// An error is a line of the log as well, which has 256 KB.
#[tokio::test]
async fn error_of_a_sweep_fits_into_a_line_of_the_log() {
    let arn = |number| format!("arn:aws:ecs:us-east-1:123456789012:cluster/unknown-{number}");
    let refused = refused(json!({ "clusters": (0..5_000).map(arn).collect::<Vec<_>>() })).await;
    assert_eq!(refused.error_type, "incomplete");
    assert!(refused.error_message.len() < 250_000, "{}", refused.error_message.len());
    let summary = refused.error_message.rsplit('\n').next().unwrap();
    let summary: Value = serde_json::from_str(summary).unwrap();
    let shown = summary["problems"].as_array().unwrap().len() + summary["clusters"].as_array().unwrap().len();
    assert!(shown >= 100 && summary["leftOut"].as_u64().unwrap() > 4_000, "{shown}, {}", summary["leftOut"]);
}
