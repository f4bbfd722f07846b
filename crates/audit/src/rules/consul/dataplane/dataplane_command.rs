use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-dataplane-command",
    summary: "consul-dataplane reads the configuration that mesh-init writes",
    severity: Severity::Error,
    applies: Applies::ConsulDataplane,
    is_fixable: true,
    effect: "Consul Dataplane fails at once, because it has neither the addresses of the servers nor the name of its service",
    explanation: "\
mesh-init (or the control plane of 0.7) registers the proxy and writes the settings of Consul Dataplane to \
`consul-dataplane.json` in the bootstrap directory: servers, node and service IDs, TLS, the token. The command \
contains that file: `consul-dataplane -config-file /consul/consul-dataplane.json`. Envoy is not started directly in \
this generation.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/reference/dataplane/cli",
        "https://developer.hashicorp.com/consul/docs/ecs/architecture",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "containerDefinitions[consul-dataplane].command",
        fails: Some(r#"["envoy", "--config-path", "/consul/envoy-bootstrap.json"]"#),
        repaired: Some(COMMAND),
    }),
    check: Check::Task(check),
};

const COMMAND: &str = r#"["consul-dataplane", "-config-file", "/consul/consul-dataplane.json"]"#;

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let (Some(dataplane), Some(directory)) = (consul.dataplane, consul.shared_directory()) else { return };
    let file = format!("{directory}/consul-dataplane.json");
    // With another entry point, which another rule reports, the command may have to be another one too.
    let Some(entry_point) = dataplane.entry_point.texts() else { return };
    if !entry_point.is_empty() && entry_point.last() != Some(&"envoy-entrypoint") {
        return;
    }
    let Some(words) = dataplane.command.texts() else { return };
    let starts_it = words.first().is_some_and(|word| word.rsplit('/').next() == Some("consul-dataplane"));
    let names_the_file = words.iter().any(|word| word.rsplit('=').next() == Some(&file));
    let has_the_flag = words.iter().any(|word| word.trim_start_matches('-').starts_with("config-file"));
    if starts_it && names_the_file && has_the_flag {
        return;
    }
    let message = if words.is_empty() {
        format!("{} has no command", dataplane.label())
    } else {
        format!("{} runs {}", dataplane.label(), dataplane.command.shown_program())
    };
    let place = &dataplane.command.place;
    let fix = Fix::set(place, vec!["consul-dataplane", "-config-file", file.as_str()]);
    let help = format!("set its command to [\"consul-dataplane\", \"-config-file\", \"{file}\"]");
    findings.add(Draft::new(place.span, message, help).of(dataplane).fix(fix));
}
