use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

/// The name of the configuration that mesh-init writes for Envoy.
const BOOTSTRAP: &str = "envoy-bootstrap.json";

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-sidecar-proxy-command",
    summary: "the sidecar proxy runs Envoy with the configuration that mesh-init writes",
    severity: Severity::Error,
    applies: Applies::ConsulClient,
    is_fixable: true,
    effect: "Envoy does not start, or runs without a listener: it is never healthy, and the app never starts",
    explanation: "\
mesh-init writes `envoy-bootstrap.json` into the directory in `bootstrapDir`, usually `/consul`. It contains Envoy's \
identity and the address of the agent, from which Envoy gets the rest. Without `--config-path` (`-c`), Envoy uses the \
demonstration configuration of its image. With `envoy-entrypoint` as entry point, the command also has to begin with \
`envoy`, the program to start.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/v1.13.x/ecs/architecture",
        "https://www.envoyproxy.io/docs/envoy/latest/operations/cli",
    ],
    example: Some(Example {
        base: Base::ClientGateway,
        given: &[],
        at: "containerDefinitions[sidecar-proxy].command",
        fails: Some(r#"["--config-path", "/consul/envoy-bootstrap.json"]"#),
        repaired: Some(r#"["envoy", "--config-path", "/consul/envoy-bootstrap.json"]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let (Some(proxy), Some(directory)) = (consul.sidecar_proxy, consul.shared_directory()) else { return };
    let (Some(entry_point), Some(command)) = (proxy.entry_point.texts(), proxy.command.texts()) else { return };
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
        return;
    };
    let place = &proxy.command.place;
    let fix = Fix::set(place, vec!["envoy", "--config-path", bootstrap.as_str()]).filter(|_| is_wrapped);
    let help = format!("set its command to [\"envoy\", \"--config-path\", \"{bootstrap}\"]");
    findings.add(Draft::new(place.span, message, help).of(proxy).fix(fix));
}
