//! Log lines: JSON, one event a line, as `CloudWatch` Logs Insights reads it.

use std::io;

use mesh::field::InvalidField;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// The target of log lines that metrics are made of: they are written at any level.
pub const METRICS: &str = "metrics";

/// This workspace's own crates: their lines follow the level.
const OWN: [&str; 8] =
    ["audit", "audit_function", "audit_live", "aws", "consul", "controller", "ecs_mesh_controller", "lambda"];

/// Starts logging at `LOG_LEVEL` (`level`; the default is `info`).
///
/// Only this workspace's lines follow the level. Libraries log from `warn` on: at finer levels an HTTP client prints what it
/// sends, which holds tokens.
///
/// # Errors
/// The level is not one. Errors are logged all the same.
pub fn start(level: Option<&str>) -> Result<(), InvalidField> {
    let level = level.filter(|level| !level.is_empty()).unwrap_or("info").to_ascii_lowercase();
    let known = match level.as_str() {
        "error" => Some(LevelFilter::ERROR),
        "warn" => Some(LevelFilter::WARN),
        "info" => Some(LevelFilter::INFO),
        "debug" => Some(LevelFilter::DEBUG),
        "trace" => Some(LevelFilter::TRACE),
        _ => None,
    };
    let own = known.unwrap_or(LevelFilter::WARN);
    let targets = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target(METRICS, LevelFilter::INFO)
        .with_targets(OWN.map(|name| (name, own)));
    let lines = fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_target(false)
        .with_writer(io::stdout);
    tracing_subscriber::registry().with(targets).with(lines).init();
    match known {
        Some(_) => Ok(()),
        None => Err(InvalidField::new("LOG_LEVEL", &level, "error, warn, info, debug or trace")),
    }
}
