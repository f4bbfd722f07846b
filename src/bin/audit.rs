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
    // A failure may be a passing one: the next invocation tries again.
    let start = || start_once(&started, &level, variable);
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

/// The auditor of this environment, which is started as often as it takes.
async fn start_once<'a>(
    started: &'a OnceCell<Auditor>,
    level: &Result<(), String>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<&'a Auditor, String> {
    let result = started
        .get_or_try_init(|| async {
            level.clone()?;
            let settings = AuditSettings::read(variable).map_err(|e| e.to_string())?;
            Ok(wiring::auditor(settings, &aws::sdk_config().await))
        })
        .await;
    if let Err(reason) = &result {
        error!(outcome = "refused_to_start", reason);
    }
    result
}
