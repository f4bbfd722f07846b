use serde_json::json;

use crate::{
    definition::{Maybe, PortMapping},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};
use mesh::ecs_config::GatewayKind;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-gateway-lan-port",
    summary: "the proxy of a mesh or API gateway maps the gateway's LAN port",
    severity: Severity::Warning,
    applies: Applies::ConsulGateway,
    is_fixable: true,
    effect: "the ECS service of the gateway cannot have a load balancer: ECS refuses a target port that is not mapped",
    explanation: "\
A gateway listens on `gateway.lanAddress.port`, 8443 by default. In the VPC it is reachable without a port mapping, \
but a load balancer or Service Connect uses only mapped ports. The Terraform module always maps it for mesh and API \
gateways; a mapping of another port usually remains from an earlier LAN port.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/reference/ecs",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_LoadBalancer.html",
    ],
    example: Some(Example {
        base: Base::ClientGateway,
        given: &[],
        at: "containerDefinitions[sidecar-proxy].portMappings",
        fails: None,
        repaired: Some(r#"[{ "containerPort": 8443, "protocol": "tcp" }]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    // Only services of the mesh call a terminating gateway.
    if !matches!(consul.gateway, Some(GatewayKind::MeshGateway | GatewayKind::ApiGateway)) {
        return;
    }
    let (Some(proxy), Some(port)) = (consul.proxy(), consul.public_port()) else { return };
    // An unknown port may be the right one.
    let may_map_it = |mapping: &PortMapping| mapping.container_port.known().is_none_or(|mapped| *mapped == port);
    let mapped = proxy.port_mappings.find(may_map_it);
    if matches!(mapped, Maybe::Absent) {
        let message = format!("{} does not map the gateway's LAN port {port}", proxy.label());
        let help = format!("map the container port {port}, TCP");
        let fix = Fix::append(&proxy.port_mappings, json!({ "containerPort": port, "protocol": "tcp" }));
        let fix = fix.filter(|_| proxy.port_mappings.items.is_empty());
        findings.add(Draft::new(proxy.port_mappings.place.span, message, help).of(proxy).fix(fix));
    }
}
