use crate::{
    definition::Container,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-mixed-generations",
    summary: "all of Consul's containers are of one generation",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "two proxies need the same ports, or two containers register the same service and overwrite each other's registration",
    explanation: "\
There are three sets of containers, and a task has one of them. Up to consul-ecs 0.6: `consul-client`, \
`consul-ecs-mesh-init` and `sidecar-proxy`. With 0.7: `consul-ecs-control-plane` and `consul-dataplane`. From 0.8 on: \
`consul-ecs-mesh-init`, `consul-dataplane` and `consul-ecs-health-sync`. Containers of two sets result from an \
incomplete upgrade. Migrate a service with a new revision that has only the new set; both revisions run beside each \
other while ECS replaces the tasks.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/upgrade-to-dataplanes",
        "https://developer.hashicorp.com/consul/docs/ecs/architecture",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "containerDefinitions[sidecar-proxy]",
        fails: Some(r#"{ "name": "sidecar-proxy", "image": "envoyproxy/envoy-alpine:v1.23.10", "essential": false }"#),
        repaired: None,
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.is_mixed()) else { return };
    let Some((old, new)) = strangers(consul) else { return };
    let message = format!("{} belongs to an older generation of Consul on ECS than {}", old.label(), new.label());
    let help = format!("remove {} and all other containers of its generation", old.label());
    findings.add(Draft::new(old.span(), message, help).of(old).note(new.span(), "the newer container"));
}

/// A container of an older and one of a newer generation.
fn strangers<'d>(consul: &ConsulTask<'d>) -> Option<(&'d Container, &'d Container)> {
    let client = consul.sidecar_proxy.or(consul.client);
    match client {
        Some(client) => Some((client, consul.dataplane.or(consul.control_plane)?)),
        None => Some((consul.control_plane?, consul.mesh_init.or(consul.health_sync)?)),
    }
}
