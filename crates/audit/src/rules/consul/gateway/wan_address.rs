use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Configuration, Subject},
};
use mesh::ecs_config::GatewayKind;

/// The meta entry of a mesh gateway through which datacenters federate.
pub(super) const FEDERATION: &str = "gateway.meta.consul-wan-federation";

/// Whether this gateway has it.
pub(super) fn federates(configuration: &Configuration) -> bool {
    configuration.text(FEDERATION).is_some_and(|mark| mark == "1")
}

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-gateway-wan-address",
    summary: "a mesh gateway through which datacenters federate has a WAN address",
    severity: Severity::Warning,
    applies: Applies::ConsulGateway,
    is_fixable: false,
    effect: "the other datacenter gets the task's private address, which it cannot reach over the Internet",
    explanation: "\
With WAN federation through mesh gateways, the servers of the other datacenters connect to the gateway's WAN address. \
Without `gateway.wanAddress.address`, that is the address of the task: it works only if the networks are peered, and \
it changes with every task. Use a load balancer for the gateway and set its address.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/reference/ecs",
        "https://developer.hashicorp.com/consul/docs/connect/gateways/mesh-gateway/wan-federation-via-mesh-gateways",
    ],
    example: Some(federating(Base::MeshGateway)),
    check: Check::Task(check),
};

const fn federating(base: Base) -> Example {
    Example {
        base,
        given: &[("config.gateway.meta", r#"{ "consul-wan-federation": "1" }"#)],
        at: "config.gateway.wanAddress.address",
        fails: None,
        repaired: Some(r#""gateway.example.com""#),
    }
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.gateway == Some(GatewayKind::MeshGateway)) else {
        return;
    };
    let configuration = &consul.configuration;
    let has_none = matches!(configuration.name_at("gateway.wanAddress.address"), Maybe::Absent);
    if has_none && federates(configuration) && !matches!(configuration.at("gateway.wanAddress"), Maybe::Unknown) {
        let place = configuration.place_of("gateway.wanAddress.address");
        let message = "the mesh gateway federates datacenters, but has no WAN address";
        findings.add(Draft::new(place.span, message, "set gateway.wanAddress.address and .port"));
    }
}
