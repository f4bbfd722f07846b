//! The `audit` Lambda function: tells whether the account's task definitions will really work in the mesh.

use std::{env, process::ExitCode};

use ecs_mesh_controller::{
    auditor::{Auditor, settings::AuditSettings},
    aws, lambda, logging, wiring,
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
    let _ = start().await;
    let handler = service_fn(|event: LambdaEvent<Value>| async {
        let started = start().await;
        lambda::audit(started.as_ref().copied(), event).await
    });
    match lambda_runtime::run(handler).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            error!(outcome = "stopped", reason = %reason);
            ExitCode::FAILURE
        }
    }
}

async fn start(level: Result<(), String>, variable: impl Fn(&str) -> Option<String>) -> Result<Auditor, String> {
    level?;
    let settings = AuditSettings::read(variable).map_err(|e| e.to_string())?;
    Ok(wiring::auditor(settings, &aws::sdk_config().await))
}
