//! What the Lambda functions do the same way: they start, log, and answer.
//!
//! ```text
//!  Lambda ─▶ serve: start, retried with each event until it succeeds ─▶ handle(started, event) ─▶ answer or Diagnostic
//! ```

pub mod logging;
pub mod metrics;

use std::{
    error::Error,
    process::ExitCode,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use lambda_runtime::{Context, Diagnostic, LambdaEvent, service_fn};
use serde_json::Value;
use tokio::sync::OnceCell;
use tracing::error;

use self::metrics::Metrics;

/// Starts a function before its first event, then passes each event to `handle`. A start that failed is retried with each event,
/// because its cause may be temporary; until it succeeds, `handle` gets the error.
pub async fn serve<T, E: Error>(
    metrics: Metrics,
    start: impl AsyncFn() -> Result<T, E>,
    handle: impl AsyncFn(Result<&T, E>, LambdaEvent<Value>) -> Result<Value, Diagnostic>,
) -> ExitCode {
    let started = OnceCell::new();
    let _ = start_once(&started, &start).await;
    run(metrics, async |event| handle(start_once(&started, &start).await, event).await).await
}

async fn start_once<'a, T, E: Error>(
    started: &'a OnceCell<T>,
    start: &impl AsyncFn() -> Result<T, E>,
) -> Result<&'a T, E> {
    let result = started.get_or_try_init(async || start().await).await;
    if let Err(error) = &result {
        refused_to_start(error);
    }
    result
}

/// Passes each event to `handle`, and writes the metrics after each, until Lambda ends the process.
pub async fn run(metrics: Metrics, handle: impl AsyncFn(LambdaEvent<Value>) -> Result<Value, Diagnostic>) -> ExitCode {
    let handle = &handle;
    let serve = |event| async move {
        let answer = handle(event).await;
        metrics.write();
        answer
    };
    match lambda_runtime::run(service_fn(serve)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            error!(outcome = "stopped", reason = %reason);
            ExitCode::FAILURE
        }
    }
}

/// Logs why a function could not be started.
pub fn refused_to_start(error: &dyn Error) {
    error!(outcome = "refused_to_start", reason = %error);
}

/// An invocation's error as Lambda shows it: a label for metrics and alarms, and the text.
pub fn diagnostic(label: &str, message: impl Into<String>) -> Diagnostic {
    Diagnostic { error_type: label.to_owned(), error_message: message.into() }
}

/// How long the invocation may still take.
pub fn remaining(context: &Context) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Duration::from_millis(context.deadline).saturating_sub(now)
}
