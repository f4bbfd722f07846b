//! The `reconcile` Lambda function: sweeps whole clusters by schedule and on demand, and runs the bootstrap and the clean-up
//! with the stack.

use std::{env, process::ExitCode};

use aws::sdk;
use consul::RetryPolicy;
use ecs_mesh_controller::{custom_resource::AwsCloudFormation, reconcile::reconcile, wiring};
use lambda::{logging, metrics::Metrics, serve};
use telemetry::Function;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let variable = |name: &str| env::var(name).ok();
    let level = logging::start(variable("LOG_LEVEL").as_deref());
    // A failed start is reported to CloudFormation, which waits for an answer.
    let start = async || wiring::start(level.clone(), RetryPolicy::for_sweeps(), variable).await;
    let metrics = Metrics::start(variable("STACK_NAME"), Function::Reconcile);
    let cloud_formation = AwsCloudFormation::new(&sdk::of_function(variable));
    let handle = async |started: Result<&(_, _), _>, event| {
        reconcile(started.map(|(controller, _)| controller), &cloud_formation, event).await
    };
    Box::pin(serve(metrics, start, handle)).await
}
