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
use tokio::sync::OnceCell;
use tracing::error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let variable = |name: &str| env::var(name).ok();
    let level = logging::start(variable("LOG_LEVEL").as_deref()).map_err(|e| e.to_string());
    let started = OnceCell::new();
    let start = || lambda::start_once(&started, || start(level.clone(), variable));
    // Before the first event comes. CloudFormation, which waits for an answer, gets the reason of a failure.
    let _ = start().await;
    let handler = service_fn(|event: LambdaEvent<Value>| async {
        let started = start().await;
        let interval = started.as_ref().ok().and_then(|(_, settings)| settings.health_sync_interval);
        lambda::reconcile(started.as_ref().map(|(controller, _)| controller), interval, event).await
    });
    match lambda_runtime::run(handler).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            error!(outcome = "stopped", reason = %reason);
            ExitCode::FAILURE
        }
    }
}

async fn start(
    level: Result<(), String>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(Controller, Settings), String> {
    level?;
    let settings = Settings::read(variable).map_err(|e| e.to_string())?;
    let edges = wiring::connect(&settings, &aws::sdk_config().await).await?;
    Ok((Controller::new(settings.scope.clone(), edges), settings))
}
