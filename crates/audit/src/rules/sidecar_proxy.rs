//! Envoy next to a Consul client agent.

use serde_json::json;

use super::prelude::*;
use crate::subject::{Feature, Software, image_of, names, ports};
use audit_read::definition::ContainerHealthCheck;
use mesh::consul_ecs::PROXY;

pub(super) static CONSUL_SIDECAR_PROXY_MISSING: Rule =
    Rule::of_task(page!("consul-sidecar-proxy-missing"), Applies::ConsulClient, check_sidecar_proxy_missing);

fn check_sidecar_proxy_missing(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    if consul.sidecar_proxy.is_some() || !consul.is_complete {
        return;
    }
    let span = consul.mesh_init.or(consul.client).map_or(subject.definition.span(), Container::span);
    findings.add(Draft::new(
        span,
        "no container runs Envoy",
        format!("add the container {} with the image of Envoy", names::SIDECAR_PROXY),
    ));
}

pub(super) static CONSUL_SIDECAR_PROXY_IMAGE: Rule =
    Rule::once_per_task(page!("consul-sidecar-proxy-image"), Applies::ConsulClient, check_sidecar_proxy_image);

fn check_sidecar_proxy_image(subject: &Subject<'_>) -> Option<Draft> {
    let container = subject.consul.as_ref()?.sidecar_proxy?;
    let image = image_of(container)?;
    let is_other = image.software().is_some_and(|software| software != Software::Envoy);
    let reference = container.image.known().map(Text::head).unwrap_or_default();
    (is_other || is_official(reference)).then(|| {
        let message = format!("{} has the image {}", container.label(), image.name);
        Draft::new(container.image.span(), message, "use an image of Envoy").of(container)
    })
}

/// Docker's official images of other programs, which have no registry and no namespace.
const OFFICIAL: [&str; 14] = [
    "alpine",
    "busybox",
    "caddy",
    "debian",
    "golang",
    "haproxy",
    "httpd",
    "memcached",
    "nginx",
    "node",
    "python",
    "redis",
    "traefik",
    "ubuntu",
];

fn is_official(reference: &str) -> bool {
    OFFICIAL.contains(&reference.split([':', '@']).next().unwrap_or_default())
}

pub(super) static CONSUL_SIDECAR_PROXY_ENTRY_POINT: Rule = Rule::once_per_task(
    page!("consul-sidecar-proxy-entry-point"),
    Applies::ConsulClient,
    check_sidecar_proxy_entry_point,
);

fn check_sidecar_proxy_entry_point(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let (Some(proxy), Some(directory)) = (consul.sidecar_proxy, consul.shared_directory()) else { return None };
    let words = proxy.entry_point.texts()?;
    if !consul.is_service() || is_older(consul) || is_fine(&words) {
        return None;
    }
    let message = if words.is_empty() {
        format!("{} has no entry point", proxy.label())
    } else {
        format!("{} has the entry point {}", proxy.label(), proxy.entry_point.shown_program())
    };
    let wanted = format!("{directory}/consul-ecs");
    let help = format!("set the entry point to [\"{wanted}\", \"envoy-entrypoint\"]");
    let place = &proxy.entry_point.place;
    let fix = Fix::set(place, vec![wanted.as_str(), "envoy-entrypoint"]).filter(|_| starts_envoy(proxy));
    Some(Draft::new(place.span, message, help).of(proxy).fix(fix))
}

fn is_fine(words: &[&str]) -> bool {
    let is_shell = words.first().is_some_and(|word| word.ends_with("sh"));
    is_shell || words.contains(&"envoy-entrypoint")
}

fn is_older(consul: &ConsulTask<'_>) -> bool {
    consul.version().is_some_and(|version| !Feature::EnvoyEntryPoint.is_in(version))
}

/// Whether its command begins with the program, as `envoy-entrypoint` expects.
fn starts_envoy(proxy: &Container) -> bool {
    proxy.command.texts().is_some_and(|words| words.first() == Some(&"envoy"))
}

/// The name of the configuration that mesh-init writes for Envoy.
const BOOTSTRAP: &str = "envoy-bootstrap.json";

pub(super) static CONSUL_SIDECAR_PROXY_COMMAND: Rule =
    Rule::once_per_task(page!("consul-sidecar-proxy-command"), Applies::ConsulClient, check_sidecar_proxy_command);

fn check_sidecar_proxy_command(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let (Some(proxy), Some(directory)) = (consul.sidecar_proxy, consul.shared_directory()) else { return None };
    let (Some(entry_point), Some(command)) = (proxy.entry_point.texts(), proxy.command.texts()) else { return None };
    let bootstrap = format!("{directory}/{BOOTSTRAP}");
    let all: Vec<&str> = entry_point.iter().chain(&command).copied().collect();
    let reads_it = all.iter().any(|word| word.contains(&bootstrap));
    let is_wrapped = entry_point.last() == Some(&"envoy-entrypoint");
    let lacks_program = is_wrapped && command.first().is_none_or(|word| word.starts_with('-'));
    let message = if command.is_empty() && !reads_it {
        format!("{} has no command", proxy.label())
    } else if !reads_it {
        format!("{} does not read {bootstrap}", proxy.label())
    } else if lacks_program {
        format!("the command of {} does not begin with envoy", proxy.label())
    } else {
        return None;
    };
    let place = &proxy.command.place;
    let fix = Fix::set(place, vec!["envoy", "--config-path", bootstrap.as_str()]).filter(|_| is_wrapped);
    let help = format!("set its command to [\"envoy\", \"--config-path\", \"{bootstrap}\"]");
    Some(Draft::new(place.span, message, help).of(proxy).fix(fix))
}

pub(super) static CONSUL_SIDECAR_PROXY_HEALTH_CHECK: Rule =
    Rule::of_task(page!("consul-sidecar-proxy-health-check"), Applies::ConsulClient, check_sidecar_proxy_health_check);

fn check_sidecar_proxy_health_check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(proxy) = consul.sidecar_proxy else { return };
    let ports = listener_ports(consul);
    if proxy.has_health_check() == Some(false) {
        missing(proxy, ports.as_deref().and_then(|ports| ports.first().copied()), findings);
    } else if let (Some(check), Some(ports)) = (proxy.health_check.known(), ports) {
        wrong_port(proxy, check, &ports, findings);
    }
}

fn missing(proxy: &Container, port: Option<u64>, findings: &mut Findings) {
    let message = format!("{} has no health check", proxy.label());
    let shown = port.map_or_else(|| "and the listener's port".to_owned(), |port| port.to_string());
    let help = format!("give it the health check nc -z 127.0.0.1 {shown}");
    let value = port.map(|port| json!({ "command": ["nc", "-z", "127.0.0.1", port.to_string()] }));
    let fix = value.and_then(|value| Fix::set(&proxy.health_check.place, value));
    findings.add(Draft::new(proxy.health_check.span(), message, help).of(proxy).fix(fix));
}

/// The ports that a correct check may probe, the default first. `None` if they are known only at deployment.
fn listener_ports(consul: &ConsulTask<'_>) -> Option<Vec<u64>> {
    if consul.is_service() {
        // Older releases ignore the setting.
        let field = PROXY.field("publicListenerPort");
        let is_older = consul.version().is_some_and(|version| field.is_none_or(|it| !it.releases.contain(version)));
        return Some(vec![if is_older { ports::PUBLIC_LISTENER.into() } else { consul.public_port()? }]);
    }
    let lan = consul.public_port().filter(|_| consul.is_gateway)?;
    let readiness = consul.configuration.number("gateway.healthCheckPort", lan)?;
    Some(vec![lan, if readiness == 0 { lan } else { readiness }])
}

fn wrong_port(proxy: &Container, check: &ContainerHealthCheck, ports: &[u64], findings: &mut Findings) {
    let (Some(words), Some(port)) = (check.command.texts(), ports.first()) else { return };
    let mut probed = words.iter().flat_map(|word| word.split(|c: char| !c.is_ascii_alphanumeric() && c != '.'));
    let numbers: Vec<u64> = probed.by_ref().filter_map(|word| word.parse().ok()).filter(|n| *n > 1023).collect();
    let Some(found) = numbers.first().filter(|_| !numbers.iter().any(|number| ports.contains(number))) else { return };
    let message = format!("the health check of {} probes port {found}, but the listener is on {port}", proxy.label());
    let place = &check.command.place;
    // Only the plain form certainly checks nothing but the port.
    let is_plain = matches!(words.as_slice(), ["nc", "-z", _, _] | ["CMD", "nc", "-z", _, _]);
    let wanted: Vec<String> = words.iter().map(|word| word.replace(&found.to_string(), &port.to_string())).collect();
    let fix = Fix::set(place, wanted).filter(|_| is_plain);
    findings.add(Draft::new(place.span, message, format!("let it probe port {port}")).of(proxy).fix(fix));
}
