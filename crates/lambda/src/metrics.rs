//! Metrics: counted while an invocation runs, and written to the log when it has ended, as `CloudWatch` reads them.

use std::io::{self, Write};

use metrics_cloudwatch_embedded::{Builder, Collector};
use telemetry::Function;
use tracing::{error, warn};

/// The name of the stack, if the function is not told.
const DEFAULT_STACK: &str = "ecs-mesh-controller";

/// Collects what is counted in this process.
#[derive(Clone, Copy)]
pub struct Metrics(Option<&'static Collector>);

impl Metrics {
    /// Starts collecting, and counts the start of this `function`. `stack` is the name of the deployment's stack.
    pub fn start(stack: Option<String>, function: Function) -> Self {
        let stack = stack.filter(|stack| !stack.is_empty()).unwrap_or_else(|| DEFAULT_STACK.to_owned());
        let builder = Builder::new().cloudwatch_namespace(telemetry::NAMESPACE).with_dimension(telemetry::STACK, stack);
        match builder.init() {
            Ok(collector) => {
                telemetry::describe();
                telemetry::cold_start(function);
                Self(Some(collector))
            }
            Err(error) => {
                warn!(outcome = "failed", reason = %error, "metrics could not be started");
                Self(None)
            }
        }
    }

    /// Writes what was counted since the last time: one line for each set of dimensions.
    pub fn write(&self) {
        let Some(collector) = self.0 else { return };
        let mut lines = Vec::new();
        if let Err(error) = collector.flush(&mut lines).and_then(|()| io::stdout().lock().write_all(&lines)) {
            error!(outcome = "failed", reason = %error, "metrics could not be written");
        }
    }
}
