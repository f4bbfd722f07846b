//! Log lines: JSON, one event a line, as `CloudWatch` Logs Insights reads it.

use tracing_subscriber::EnvFilter;

use crate::auditor::METRICS;
use mesh::field::InvalidField;

/// Starts logging at `LOG_LEVEL` (`level`; the default is `info`).
///
/// Only this crate's lines follow the level. Libraries speak from `warn` on: at finer levels an HTTP client prints
/// what it sends, and that holds tokens. The lines that metrics are made of are written at any level.
///
/// # Errors
/// The level is not one.
pub fn start(level: Option<&str>) -> Result<(), InvalidField> {
    let level = level.filter(|level| !level.is_empty()).unwrap_or("info").to_ascii_lowercase();
    let is_known = ["error", "warn", "info", "debug", "trace"].contains(&level.as_str());
    // Log on all the same: the error has to be seen.
    let filter = if is_known {
        format!("warn,{METRICS}=info,ecs_mesh_controller={level},task_events={level}")
    } else {
        "warn".to_owned()
    };
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_target(false)
        .with_env_filter(EnvFilter::new(filter))
        .init();
    if is_known { Ok(()) } else { Err(InvalidField::new("LOG_LEVEL", &level, "error, warn, info, debug or trace")) }
}
