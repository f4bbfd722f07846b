use crate::{
    definition::{Container, HealthCheck},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-dataplane-health-check",
    summary: "consul-dataplane's health check connects to the readiness port of the configuration",
    severity: Severity::Error,
    applies: Applies::ConsulDataplane,
    is_fixable: true,
    effect: "the proxy never becomes HEALTHY: the app is never started, and the service is critical in Consul",
    explanation: "\
Envoy opens a separate port when it is ready: `proxy.healthCheckPort`, or `gateway.healthCheckPort` for gateways, \
22000 by default. The health check connects to it with `/consul/consul-ecs net-dial`, because the image has neither \
`nc` nor `curl`. The app's containers wait for that health check, and health-sync copies its state to Consul.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/reference/ecs",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_HealthCheck.html",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "containerDefinitions[consul-dataplane].healthCheck.command",
        fails: Some(r#"["/consul/consul-ecs", "net-dial", "127.0.0.1:20000"]"#),
        repaired: Some(r#"["/consul/consul-ecs", "net-dial", "127.0.0.1:22000"]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(dataplane) = consul.dataplane else { return };
    let port = consul.readiness_port();
    if dataplane.has_health_check() == Some(true) {
        let Some((health_check, port)) = dataplane.health_check.known().zip(port) else { return };
        report_another_port(dataplane, health_check, port, findings);
    } else if dataplane.has_health_check() == Some(false) {
        let message = format!("{} has no health check", dataplane.label());
        let port = port.map_or_else(|| "the readiness port".to_owned(), |port| port.to_string());
        let directory = consul.shared_directory().unwrap_or("/consul");
        let help = format!("add one with the command [\"{directory}/consul-ecs\", \"net-dial\", \"127.0.0.1:{port}\"]");
        findings.add(Draft::new(dataplane.health_check.span(), message, help).of(dataplane));
    }
}

fn report_another_port(dataplane: &Container, health_check: &HealthCheck, port: u64, findings: &mut Findings) {
    let Some(words) = health_check.command.texts() else { return };
    // A check without a visible port is a user's own script.
    let Some(probed) = probed_port(&words) else { return };
    if probed == port {
        return;
    }
    let message = format!(
        "the health check of {} connects to port {probed}, but the readiness port is {port}",
        dataplane.label()
    );
    let help = format!("let it connect to 127.0.0.1:{port}");
    let address = format!("127.0.0.1:{port}");
    let is_usual = words.len() == 3 && words.get(1) == Some(&"net-dial");
    let last = health_check.command.items.last().filter(|_| is_usual);
    let fix = last.and_then(|last| Fix::set(&last.place, address));
    findings.add(Draft::new(health_check.command.place.span, message, help).of(dataplane).fix(fix));
}

/// The port in `127.0.0.1:22000`, `http://localhost:22000/ready` and `nc -z 127.0.0.1 22000`.
fn probed_port(words: &[&str]) -> Option<u64> {
    let parts: Vec<&str> = words.iter().flat_map(|word| word.split_whitespace()).collect();
    let behind_a_colon = |part: &&str| {
        let (_, after) = part.rsplit_once(':')?;
        let digits = after.split('/').next()?;
        digits.parse().ok()
    };
    let of_nc = || {
        let is_netcat = parts.iter().any(|part| part.rsplit('/').next() == Some("nc"));
        parts.iter().rev().find_map(|part| part.parse().ok()).filter(|_| is_netcat)
    };
    parts.iter().find_map(behind_a_colon).or_else(of_nc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_a_health_check_is_found() {
        for (words, port) in [
            (vec!["/consul/consul-ecs", "net-dial", "127.0.0.1:22000"], Some(22000)),
            (vec!["CMD", "nc", "-z", "127.0.0.1", "22000"], Some(22000)),
            (vec!["CMD-SHELL", "curl -sf http://localhost:22000/ready || exit 1"], Some(22000)),
            (vec!["CMD-SHELL", "/check.sh 30 || exit 1"], None),
        ] {
            assert_eq!(probed_port(&words), port, "{words:?}");
        }
    }
}
