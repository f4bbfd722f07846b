//! Containers beside the app that are not part of the service.

use crate::audit::definition::Container;

/// Whether a container only watches the others or carries their logs away: it needs no mesh, and should come first.
#[must_use]
pub fn is_observer(container: &Container) -> bool {
    const OBSERVERS: [&str; 9] = [
        "xray-daemon",
        "fluent-bit",
        "fluentbit",
        "fluentd",
        "firelens",
        "cloudwatch-agent",
        "otel-collector",
        "opentelemetry-collector",
        "datadog",
    ];
    container.image.known().is_some_and(|image| OBSERVERS.iter().any(|name| image.mentions(name)))
}
