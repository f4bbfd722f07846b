//! Log lines: JSON, one event a line, as `CloudWatch` Logs Insights reads it.

use std::io;

use mesh::names::InvalidField;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{filter::filter_fn, fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// The crates of this workspace that run in functions: their lines follow the level.
pub const OWN: [&str; 15] = [
    "audit",
    "audit_function",
    "audit_live",
    "audit_read",
    "aws",
    "consul",
    "controller",
    "document",
    "ecs_mesh_controller",
    "lambda",
    "mesh",
    "observe",
    "report",
    "telemetry",
    "terraform",
];

/// Starts logging at `LOG_LEVEL` (`level`; the default is `info`).
///
/// Only the lines of this workspace's crates follow the level. Libraries log warnings and errors only: below that, HTTP clients
/// log what they send, which contains tokens. Optimised builds contain no lines below `debug`.
///
/// # Errors
/// The level is unknown. Warnings and errors are logged nevertheless.
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
    let levels = filter_fn(move |line| *line.level() <= limit(line.target(), own));
    let lines = fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_target(false)
        .with_writer(io::stdout);
    tracing_subscriber::registry().with(levels.with_max_level_hint(own.max(LevelFilter::INFO))).with(lines).init();
    match known {
        Some(_) => Ok(()),
        None => Err(InvalidField::new("LOG_LEVEL", &level, "error, warn, info, debug or trace")),
    }
}

/// The finest level of the lines with this target, where this workspace's crates log up to `own`. A target
/// begins with the name of its crate.
fn limit(target: &str, own: LevelFilter) -> LevelFilter {
    let name = target.split("::").next().unwrap_or_default();
    if OWN.contains(&name) { own } else { LevelFilter::WARN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_log_warnings_whatever_the_level() {
        for target in ["aws_smithy_runtime::client", "lambda_runtime", "hyper_util", "consul_other::x", ""] {
            assert_eq!(limit(target, LevelFilter::TRACE), LevelFilter::WARN, "{target}");
        }
    }

    #[test]
    fn own_crates_follow_the_level() {
        for target in ["aws::ecs::tasks", "controller", "consul::http", "ecs_mesh_controller::reconcile"] {
            assert_eq!(limit(target, LevelFilter::TRACE), LevelFilter::TRACE, "{target}");
            assert_eq!(limit(target, LevelFilter::ERROR), LevelFilter::ERROR, "{target}");
        }
    }
}
