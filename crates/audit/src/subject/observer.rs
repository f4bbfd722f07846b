//! Containers beside the app that are not part of the service.

use audit_read::definition::Container;

/// Whether a container only monitors the others or forwards their logs: it does not use the mesh, and should start
/// first.
pub fn is_observer(container: &Container) -> bool {
    const OBSERVERS: [&str; 12] = [
        "xray-daemon",
        "fluent-bit",
        "fluentbit",
        "fluentd",
        "firelens",
        "cloudwatch-agent",
        "otel-collector",
        "opentelemetry-collector",
        "otelcol",
        "aws-otel",
        "datadog",
        "newrelic",
    ];
    let by_image = container.image.known().is_some_and(|image| OBSERVERS.iter().any(|name| image.mentions(name)));
    by_image || !container.fire_lens.is_absent()
}

/// The containers of `apps` that serve requests. If all of them are observers, these are the service.
pub fn workloads<'d>(apps: &[&'d Container]) -> Vec<&'d Container> {
    let workloads: Vec<&Container> = apps.iter().copied().filter(|app| !is_observer(app)).collect();
    if workloads.is_empty() { apps.to_vec() } else { workloads }
}
