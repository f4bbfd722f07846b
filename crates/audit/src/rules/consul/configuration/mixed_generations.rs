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
    examples: &[
        Example {
            base: Base::Dataplane,
            given: &[],
            at: "containerDefinitions[sidecar-proxy]",
            fails: Some(
                r#"{ "name": "sidecar-proxy", "image": "envoyproxy/envoy-alpine:v1.23.10", "essential": false }"#,
            ),
            repaired: None,
        },
        Example {
            base: Base::Dataplane,
            given: &[],
            at: "containerDefinitions[consul-client]",
            fails: Some(
                r#"{ "name": "consul-client", "image": "public.ecr.aws/hashicorp/consul:1.15.3", "essential": false }"#,
            ),
            repaired: None,
        },
        Example {
            base: Base::ControlPlane,
            given: &[],
            at: "containerDefinitions[consul-ecs-mesh-init]",
            fails: Some(MESH_INIT_CONTAINER),
            repaired: None,
        },
    ],
    check: Check::Task(check),
};

/// The containers that replace the control plane in 0.8.
const MESH_INIT_CONTAINER: &str = r#"{
    "name": "consul-ecs-mesh-init", "image": "public.ecr.aws/hashicorp/consul-ecs:0.7.2", "essential": false,
    "command": ["mesh-init"],
    "environment": [{
        "name": "CONSUL_ECS_CONFIG_JSON",
        "value": "{\"bootstrapDir\":\"/consul\",\"consulServers\":{\"hosts\":\"consul.example.internal\"},\"service\":{\"name\":\"web\",\"port\":9090}}"
    }],
    "mountPoints": [
        { "sourceVolume": "consul_data", "containerPath": "/consul", "readOnly": false },
        { "sourceVolume": "consul_binary", "containerPath": "/bin/consul-inject", "readOnly": true }
    ],
    "secrets": [
        { "name": "CONSUL_HTTPS_CACERT_PEM", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ca-cert-GhIjKl" },
        { "name": "CONSUL_GRPC_CACERT_PEM", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ca-cert-GhIjKl" }
    ]
}"#;

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
