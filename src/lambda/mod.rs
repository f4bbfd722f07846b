//! What Lambda hands to the functions, and what it wants back.

mod audit;
pub mod custom_resource;
pub mod reconcile;
mod task_events;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lambda_runtime::{Context, Diagnostic};

pub use self::{audit::audit, reconcile::reconcile, task_events::task_events};

fn diagnostic(label: &str, message: impl Into<String>) -> Diagnostic {
    Diagnostic { error_type: label.to_owned(), error_message: message.into() }
}

fn remaining(context: &Context) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Duration::from_millis(context.deadline).saturating_sub(now)
}
