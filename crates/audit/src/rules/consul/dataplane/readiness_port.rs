use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-readiness-port",
    summary: "the proxy's readiness port differs from its public listener's",
    severity: Severity::Error,
    applies: Applies::ConsulDataplane,
    is_fixable: false,
    effect: "Envoy cannot open one of the two listeners: the proxy is never ready, or other services cannot reach it",
    explanation: "\
The proxy accepts the mesh's traffic on `proxy.publicListenerPort` (20000 by default; a gateway on \
`gateway.lanAddress.port`, 8443 by default) and answers readiness checks on `healthCheckPort` (22000 by default). Two \
listeners cannot share a port. The Terraform module refuses equal ports as well.",
    sources: &["https://developer.hashicorp.com/consul/docs/reference/ecs"],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "config.proxy.publicListenerPort",
        fails: Some("22000"),
        repaired: Some("20000"),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let (Some(public), Some(readiness)) = (consul.public_port(), consul.readiness_port()) else { return };
    if public != readiness {
        return;
    }
    let section = if consul.is_gateway { "gateway" } else { "proxy" };
    let listener = if consul.is_gateway { "gateway.lanAddress.port" } else { "proxy.publicListenerPort" };
    let message = format!("the public listener and the readiness check both have port {public}");
    let help = "use two different ports; the defaults are 20000 (gateways: 8443) and 22000";
    let mut draft = Draft::new(consul.configuration.place_of(listener).span, message, help);
    if let Maybe::Known(port) = consul.configuration.at(&format!("{section}.healthCheckPort")) {
        draft.add_note_elsewhere(port.place.span, "the readiness check");
    }
    findings.add(draft);
}
