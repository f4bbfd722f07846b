//! The containers of the app, and the entry point of consul-ecs that delays their TERM.

use std::ops::RangeInclusive;

use super::go_duration::go_duration;
use audit_read::definition::{Container, PortMapping};

/// `consul-ecs app-entrypoint -shutdown-delay 10s` before the app's own command.
#[derive(Debug)]
pub struct EntryPoint<'d> {
    program: &'d str,
    options: Vec<&'d str>,
}

impl<'d> EntryPoint<'d> {
    /// The entry point of `container`, if it is certainly this one.
    pub fn of(container: &'d Container) -> Option<Self> {
        match container.command_line()?.as_slice() {
            [program, "app-entrypoint", options @ ..] if program.rsplit('/').next() == Some("consul-ecs") => {
                Some(Self { program, options: options.to_vec() })
            }
            _ => None,
        }
    }

    /// The program, as the container spells it.
    pub fn program(&self) -> &'d str {
        self.program
    }

    /// The delay between ECS's TERM and the app's, as it is written.
    pub fn delay(&self) -> Option<&'d str> {
        let mut words = self.options.iter();
        while let Some(option) = words.next().and_then(|word| word.strip_prefix('-')) {
            let (name, value) = match option.trim_start_matches('-').split_once('=') {
                Some((name, value)) => (name, value),
                None => (option.trim_start_matches('-'), *words.next()?),
            };
            if name == "shutdown-delay" {
                return Some(value);
            }
        }
        None
    }

    /// The same in whole seconds; `None` without a delay, or if it is no duration.
    pub fn shutdown_delay(&self) -> Option<u64> {
        const SECOND: i64 = 1_000_000_000;
        u64::try_from(go_duration(self.delay()?)? / SECOND).ok()
    }
}

/// The TCP ports of agents that take traces, metrics and logs: Datadog, OpenTelemetry, Fluentd, the agent of CloudWatch for its
/// embedded format. Sources: <https://docs.datadoghq.com/agent/guide/network/>,
/// <https://opentelemetry.io/docs/specs/otlp/>, <https://docs.fluentd.org/input/forward>,
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Generation_CloudWatch_Agent.html>
const OBSERVERS_PORTS: [u64; 5] = [4317, 4318, 8126, 24224, 25888];

/// Whether a container only monitors the others or forwards their logs: it does not use the mesh, and should start first. Its
/// image says so; if that is known only at deployment, its name or its ports: statsd and X-Ray have ports for UDP.
pub fn is_observer(container: &Container) -> bool {
    const OBSERVERS: [&str; 13] = [
        "xray-daemon",
        "fluent-bit",
        "fluentbit",
        "fluentd",
        "firelens",
        "cloudwatch-agent",
        "cwagent",
        "otel-collector",
        "opentelemetry-collector",
        "otelcol",
        "aws-otel",
        "datadog",
        "newrelic",
    ];
    let by_image = container.image.known().is_some_and(|image| OBSERVERS.iter().any(|name| image.mentions(name)));
    let is_unknown = container.image.text().is_none();
    let by_name = || container.name.known().is_some_and(|name| OBSERVERS.iter().any(|word| name.mentions(word)));
    let mappings = &container.port_mappings;
    let is_agents = |mapping: &PortMapping| {
        let are_observers = |mut ports: RangeInclusive<u64>| ports.all(|port| OBSERVERS_PORTS.contains(&port));
        mapping.is_udp() || mapping.tcp_ports().is_some_and(are_observers)
    };
    let by_ports = || mappings.is_complete && !mappings.items.is_empty() && mappings.items.iter().all(is_agents);
    by_image || (is_unknown && (by_name() || by_ports())) || !container.fire_lens.is_absent()
}

/// The containers of `apps` that serve requests. If all of them are observers, these are the service.
pub fn workloads<'d>(apps: &[&'d Container]) -> Vec<&'d Container> {
    let workloads: Vec<&Container> = apps.iter().copied().filter(|app| !is_observer(app)).collect();
    if workloads.is_empty() { apps.to_vec() } else { workloads }
}
