//! The `task-events` Lambda function: updates Consul and Secrets Manager after changes of tasks in ECS.

use std::{env, process::ExitCode};

use consul::RetryPolicy;
use ecs_mesh_controller::{task_events::task_events, wiring};
use lambda::{logging, refused_to_start, run};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let variable = |name: &str| env::var(name).ok();
    let level = logging::start(variable("LOG_LEVEL").as_deref());
    match wiring::start(level, RetryPolicy::for_events(), variable).await {
        Ok((controller, _)) => run(async |event| task_events(&controller, event).await).await,
        Err(error) => {
            refused_to_start(&error);
            ExitCode::FAILURE
        }
    }
}
