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
    let start = || start_once(&started, &level, variable);
    // Before the first event comes. A failure may be a passing one: the next invocation tries again, and CloudFormation,
    // which waits for an answer, gets its reason.
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

/// The controller of this environment, which is started as often as it takes.
async fn start_once<'a>(
    started: &'a OnceCell<(Controller, Settings)>,
    level: &Result<(), String>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<&'a (Controller, Settings), String> {
    let result = started
        .get_or_try_init(|| async {
            level.clone()?;
            start(variable).await
        })
        .await;
    if let Err(reason) = &result {
        error!(outcome = "refused_to_start", reason);
    }
    result
}

async fn start(variable: impl Fn(&str) -> Option<String>) -> Result<(Controller, Settings), String> {
    let settings = Settings::read(variable).map_err(|e| e.to_string())?;
    let edges = wiring::connect(&settings, &aws::sdk_config().await).await?;
    Ok((Controller::new(settings.scope.clone(), edges), settings))
}
