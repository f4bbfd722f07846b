//! Envoy next to a Consul client agent.

use serde_json::json;

use super::prelude::*;
use crate::subject::{Feature, Software, image_of, names, ports};
use audit_read::definition::ContainerHealthCheck;
use mesh::consul_ecs::PROXY;

pub(super) static CONSUL_SIDECAR_PROXY_MISSING: Rule = Rule {
    id: "consul-sidecar-proxy-missing",
    summary: "the task has a proxy",
    effect: "the service is registered with a sidecar that does not run, and can neither get requests from the mesh nor send any",
    explanation: "\
mesh-init registers two services, the app's and its proxy's, and writes the configuration of the proxy. The container \
`sidecar-proxy` runs Envoy with it. Without this container, the registered address of the proxy and the ports of the \
app's upstreams are closed.",
    sources: &[pages::CONSUL_CLIENT_ARCHITECTURE],
    example: Some(Base::Client.missing("containerDefinitions[sidecar-proxy]")),
    ..Rule::of_task(Applies::ConsulClient, check_sidecar_proxy_missing)
};

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

pub(super) static CONSUL_SIDECAR_PROXY_IMAGE: Rule = Rule {
    id: "consul-sidecar-proxy-image",
    summary: "sidecar-proxy has the image of Envoy",
    severity: Severity::Warning,
    effect: "the container finds no program envoy and fails, and the app never starts",
    explanation: "\
With a client agent, the proxy is Envoy, in a version that the agent's Consul supports. The images of Consul and \
consul-ecs do not contain it. The image of Consul Dataplane does, but its program needs a configuration that mesh-init \
does not write in this generation. Images with unknown names count as mirrors of Envoy's image.",
    sources: &["https://developer.hashicorp.com/consul/docs/connect/proxies/envoy"],
    example: Some(Base::Client.wrong("containerDefinitions[sidecar-proxy].image", r#""hashicorp/consul:1.11.11""#)),
    ..Rule::once_per_task(Applies::ConsulClient, check_sidecar_proxy_image)
};

fn check_sidecar_proxy_image(subject: &Subject<'_>) -> Option<Draft> {
    let container = subject.consul.as_ref()?.sidecar_proxy?;
    let image = image_of(container)?;
    (image.software().is_some_and(|software| software != Software::Envoy)).then(|| {
        let message = format!("{} has the image {}", container.label(), image.name);
        Draft::new(container.image.span(), message, "use an image of Envoy").of(container)
    })
}

pub(super) static CONSUL_SIDECAR_PROXY_ENTRY_POINT: Rule = Rule {
    id: "consul-sidecar-proxy-entry-point",
    summary: "consul-ecs envoy-entrypoint starts the sidecar proxy",
    severity: Severity::Warning,
    is_fixable: true,
    effect: "Envoy stops as soon as the task stops, and the last requests of the app fail",
    explanation: "\
When a task stops, ECS sends TERM to its containers, and Envoy stops when it gets one. An app that did not wait for \
the proxy is still running then, and loses its upstreams. `consul-ecs envoy-entrypoint`, which mesh-init copies to \
the shared volume, starts Envoy, ignores TERM, and stops Envoy after the app's containers have stopped. A shell \
script as entry point may do the same and is not reported. Nor are gateways, which have no app, and consul-ecs before \
0.3, whose official definitions had no such entry point.",
    sources: &[pages::CONSUL_CLIENT_ARCHITECTURE],
    example: Some(Base::Client.missing("containerDefinitions[sidecar-proxy].entryPoint")),
    ..Rule::once_per_task(Applies::ConsulClient, check_sidecar_proxy_entry_point)
};

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
    Rule {
        id: "consul-sidecar-proxy-command",
        summary: "the sidecar proxy runs Envoy with the configuration that mesh-init writes",
        is_fixable: true,
        effect: "Envoy does not start, or runs without a listener: it is never healthy, and the app never starts",
        explanation: "\
mesh-init writes `envoy-bootstrap.json` into the directory in `bootstrapDir`, usually `/consul`. It contains Envoy's \
identity and the address of the agent, from which Envoy gets the rest. Without `--config-path` (`-c`), Envoy uses the \
demonstration configuration of its image. With `envoy-entrypoint` as entry point, the command must begin with \
`envoy`, the program to start.",
        sources: &[pages::CONSUL_CLIENT_ARCHITECTURE, "https://www.envoyproxy.io/docs/envoy/latest/operations/cli"],
        example: Some(Base::ClientGateway.wrong(
            "containerDefinitions[sidecar-proxy].command",
            r#"["--config-path", "/consul/envoy-bootstrap.json"]"#,
        )),
        ..Rule::once_per_task(Applies::ConsulClient, check_sidecar_proxy_command)
    };

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

pub(super) static CONSUL_SIDECAR_PROXY_HEALTH_CHECK: Rule = Rule {
    id: "consul-sidecar-proxy-health-check",
    summary: "the health check of the sidecar proxy probes its public listener",
    is_fixable: true,
    effect: "the proxy is never healthy and the app never starts, or the proxy is healthy before it accepts traffic",
    explanation: "\
The app waits until the proxy is healthy, which means that Envoy has its configuration: only then does it open the \
public listener, on `proxy.publicListenerPort` of the configuration (default: 20000; for a gateway the port of \
`gateway.lanAddress`, default: 8443). A check of another port always fails, or passes too early, as with Envoy's \
admin port.",
    sources: &[pages::CONSUL_CLIENT_ARCHITECTURE, pages::CONSUL_CONFIGURATION_REFERENCE],
    example: Some(
        Base::ClientGateway
            .wrong("containerDefinitions[sidecar-proxy].healthCheck.command", r#"["nc", "-z", "127.0.0.1", "20000"]"#),
    ),
    ..Rule::of_task(Applies::ConsulClient, check_sidecar_proxy_health_check)
};

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
