//! The `task-events` Lambda function: makes Consul and Secrets Manager agree with what ECS says of its tasks.

use std::{env, process::ExitCode};

use ecs_mesh_controller::{
    aws,
    controller::{Controller, settings::Settings},
    lambda, logging, wiring,
};
use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::Value;
use tracing::error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match serve().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            error!(outcome = "refused_to_start", reason);
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> Result<(), String> {
    let variable = |name: &str| env::var(name).ok();
    logging::start(variable("LOG_LEVEL").as_deref()).map_err(|e| e.to_string())?;
    let settings = Settings::read(variable).map_err(|e| e.to_string())?;
    let edges = wiring::connect(&settings, &aws::sdk_config().await).await?;
    let controller = &Controller::new(settings.scope, edges);
    let handler = service_fn(|event: LambdaEvent<Value>| lambda::task_events(controller, event));
    lambda_runtime::run(handler).await.map_err(|e| e.to_string())
}
