//! What Lambda hands to the functions, and what it wants back.

mod audit;
pub mod custom_resource;
pub mod reconcile;
mod task_events;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lambda_runtime::{Context, Diagnostic};
use tokio::sync::OnceCell;
use tracing::error;

pub use self::{audit::audit, reconcile::reconcile, task_events::task_events};

/// What a function works with, which is started as often as it takes: a failure may be a passing one, and the next
/// invocation tries again.
///
/// # Errors
/// Why it could not be started this time, which is logged, too.
pub async fn start_once<T, F>(started: &OnceCell<T>, start: impl FnOnce() -> F) -> Result<&T, String>
where
    F: Future<Output = Result<T, String>>,
{
    let result = started.get_or_try_init(start).await;
    if let Err(reason) = &result {
        error!(outcome = "refused_to_start", reason);
    }
    result
}

fn diagnostic(label: &str, message: impl Into<String>) -> Diagnostic {
    Diagnostic { error_type: label.to_owned(), error_message: message.into() }
}

fn remaining(context: &Context) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Duration::from_millis(context.deadline).saturating_sub(now)
}
