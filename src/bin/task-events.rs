//! The `task-events` Lambda function: updates Consul and Secrets Manager after changes of tasks in ECS.

use std::{env, process::ExitCode};

use consul::RetryPolicy;
use ecs_mesh_controller::{task_events::task_events, wiring};
use lambda::{logging, metrics::Metrics, refused_to_start, run};
use telemetry::Function;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let variable = |name: &str| env::var(name).ok();
    let level = logging::start(variable("LOG_LEVEL").as_deref());
    let metrics = Metrics::start(variable("STACK_NAME"), Function::TaskEvents);
    match wiring::start(level, RetryPolicy::for_events(), variable).await {
        Ok((controller, _)) => run(metrics, async |event| task_events(&controller, event).await).await,
        Err(error) => {
            refused_to_start(&error);
            ExitCode::FAILURE
        }
    }
}
