use crate::{
    definition::Container,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Subject, names},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-client-missing",
    summary: "with consul-ecs up to 0.6, the task has a Consul client agent",
    severity: Severity::Error,
    applies: Applies::ConsulClient,
    is_fixable: false,
    effect: "mesh-init finds no agent to register the service with, and waits for one until the task is stopped",
    explanation: "\
Up to consul-ecs 0.6, mesh-init, health-sync and Envoy connect to a Consul agent in the same task, at 127.0.0.1. The \
agent joins the cluster, and the task's services are registered with it. From 0.7 on, tasks connect to the Consul \
servers directly, and Consul Dataplane replaces the agent and Envoy.",
    sources: &["https://developer.hashicorp.com/consul/docs/v1.13.x/ecs/architecture"],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-client]",
        fails: None,
        repaired: Some(CLIENT_CONTAINER),
    }),
    check: Check::Task(check),
};

const CLIENT_CONTAINER: &str = r#"{
    "name": "consul-client",
    "image": "public.ecr.aws/hashicorp/consul:1.11.11",
    "essential": false,
    "entryPoint": ["/bin/sh", "-ec"],
    "command": ["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal\n"],
    "linuxParameters": { "initProcessEnabled": true },
    "mountPoints": [
        { "sourceVolume": "consul_data", "containerPath": "/consul" },
        { "sourceVolume": "consul_binary", "containerPath": "/bin/consul-inject" }
    ]
}"#;

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    if consul.client.is_some() || !consul.is_complete {
        return;
    }
    let span = consul.mesh_init.map_or(subject.definition.span(), Container::span);
    findings.add(Draft::new(
        span,
        "the task has no Consul client agent",
        format!("add the container {}, or move to consul-ecs 0.8 and Consul Dataplane", names::CLIENT),
    ));
}
