//! The `reconcile` Lambda function: sweeps whole clusters by schedule and on demand, and runs the bootstrap and the clean-up
//! with the stack.

use std::{env, process::ExitCode};

use consul::RetryPolicy;
use ecs_mesh_controller::{reconcile::reconcile, wiring};
use lambda::{logging, metrics::Metrics, serve};
use telemetry::Function;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let variable = |name: &str| env::var(name).ok();
    let level = logging::start(variable("LOG_LEVEL").as_deref());
    // A failed start is reported to CloudFormation, which waits for an answer.
    let start = async || wiring::start(level.clone(), RetryPolicy::for_sweeps(), variable).await;
    let metrics = Metrics::start(variable("STACK_NAME"), Function::Reconcile);
    let serving =
        serve(metrics, start, async |started, event| reconcile(started.map(|(controller, _)| controller), event).await);
    Box::pin(serving).await
}
