//! The `reconcile` Lambda function: sweeps whole clusters on a schedule and on demand, syncs health, and sets Consul up
//! and cleans it up with the stack.

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
    let variable = |name: &str| env::var(name).ok();
    let level = logging::start(variable("LOG_LEVEL").as_deref()).map_err(|e| e.to_string());
    let started = match level {
        Ok(()) => start(variable).await,
        Err(reason) => Err(reason),
    };
    if let Err(reason) = &started {
        // It runs on all the same: CloudFormation waits for an answer, and should get this one.
        error!(outcome = "refused_to_start", reason);
    }
    let (controller, settings) = match &started {
        Ok((controller, settings)) => (Ok(controller), Some(settings)),
        Err(reason) => (Err(reason), None),
    };
    let interval = settings.and_then(|settings| settings.health_sync_interval);
    let handler = service_fn(|event: LambdaEvent<Value>| lambda::reconcile(controller, interval, event));
    match lambda_runtime::run(handler).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            error!(outcome = "stopped", reason = %reason);
            ExitCode::FAILURE
        }
    }
}

async fn start(variable: impl Fn(&str) -> Option<String>) -> Result<(Controller, Settings), String> {
    let settings = Settings::read(variable).map_err(|e| e.to_string())?;
    let edges = wiring::connect(&settings, &aws::sdk_config().await).await?;
    Ok((Controller::new(settings.scope.clone(), edges), settings))
}
