use semver::Version;
use serde_json::json;

use crate::{
    definition::{Container, HealthCheck},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Subject},
};

/// The default port of the public listener.
const DEFAULT_PORT: u64 = 20_000;

/// The first version of consul-ecs with this setting. Older ones ignore it.
const PORT_SINCE: Version = Version::new(0, 6, 0);

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-sidecar-proxy-health-check",
    summary: "the health check of the sidecar proxy probes its public listener",
    severity: Severity::Error,
    applies: Applies::ConsulClient,
    is_fixable: true,
    effect: "the proxy is never healthy, so that the app never starts; or it is healthy before it accepts traffic",
    explanation: "\
The app waits until the proxy is healthy, which means that Envoy has its configuration: only then does it open the \
public listener. The listener's port is `proxy.publicListenerPort` of the configuration, 20000 if absent. A gateway \
listens on the port of `gateway.lanAddress`, 8443 if absent. A check of another port always fails, or passes too \
early, as with Envoy's admin port.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/v1.13.x/ecs/architecture",
        "https://developer.hashicorp.com/consul/docs/ecs/reference/configuration-reference",
    ],
    example: Some(Example {
        base: Base::ClientGateway,
        given: &[],
        at: "containerDefinitions[sidecar-proxy].healthCheck.command",
        fails: Some(r#"["nc", "-z", "127.0.0.1", "20000"]"#),
        repaired: Some(r#"["nc", "-z", "127.0.0.1", "8443"]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(proxy) = consul.sidecar_proxy else { return };
    let ports = ports(consul);
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
fn ports(consul: &ConsulTask<'_>) -> Option<Vec<u64>> {
    if consul.is_service() {
        let is_older = consul.version().is_some_and(|version| version < PORT_SINCE);
        return Some(vec![if is_older { DEFAULT_PORT } else { consul.public_port()? }]);
    }
    let lan = consul.public_port().filter(|_| consul.is_gateway)?;
    let readiness = consul.configuration.number("gateway.healthCheckPort", lan)?;
    Some(vec![lan, if readiness == 0 { lan } else { readiness }])
}

fn wrong_port(proxy: &Container, check: &HealthCheck, ports: &[u64], findings: &mut Findings) {
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
