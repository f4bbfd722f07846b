use crate::audit::{
    definition::Container,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::audit::rules) static RULE: Rule = Rule {
    id: "consul-service-port",
    summary: "a service that listens has its port in the configuration",
    severity: Severity::Warning,
    applies: Applies::Consul,
    effect: "the proxy has nowhere to send incoming requests: every one of them fails",
    explanation: "\
`service.port` is where the proxy finds the app. Port 0 says that the app only makes requests and takes none: the Terraform \
module demands `outbound_only = true` beside it, which leaves no trace in the task definition. An app container that maps a port \
looks like one that does take requests, so that port 0 is probably an oversight.",
    sources: &["https://developer.hashicorp.com/consul/docs/reference/ecs"],
    examples: &[
        Example {
            base: Base::Dataplane,
            given: &[],
            at: "config.service.port",
            fails: Some("0"),
            repaired: Some("9090"),
        },
        Example { base: Base::Client, given: &[], at: "config.service.port", fails: Some("0"), repaired: Some("9090") },
    ],
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.is_service()) else { return };
    let port = |container: &&Container| Some(*container.port_mappings.items.first()?.container_port.known()?);
    let Some((app, port)) = consul.apps.iter().find_map(|app| Some((*app, port(app)?))) else { return };
    if consul.configuration.number("service.port", 1) == Some(0) {
        let message = format!("the service's port is 0, but {} listens on {port}", app.label());
        let help = format!("set service.port to {port}, or take the port mapping away if the app only makes requests");
        findings.add(Draft::new(consul.configuration.place_of("service.port").span, message, help));
    }
}
