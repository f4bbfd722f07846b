use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-dataplane-missing",
    summary: "the task has a container consul-dataplane",
    severity: Severity::Error,
    applies: Applies::ConsulDataplane,
    is_fixable: false,
    effect: "the service is registered with a proxy that does not run: other services cannot reach it",
    explanation: "\
From consul-ecs 0.7 on, Consul Dataplane runs Envoy and connects it to the Consul servers. mesh-init (or the control plane of 0.7) \
only writes its configuration to the shared volume. Both look for the container by its name, `consul-dataplane`, in the task's \
metadata, and so does health-sync.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/architecture",
        "https://developer.hashicorp.com/consul/docs/connect/dataplane",
    ],
    example: Some(Example {
        base: Base::TerminatingGateway,
        given: &[],
        at: "containerDefinitions[consul-dataplane]",
        fails: None,
        repaired: Some(GATEWAY_PROXY_CONTAINER),
    }),
    check: Check::Task(check),
};

const GATEWAY_PROXY_CONTAINER: &str = r#"{
    "name": "consul-dataplane", "image": "hashicorp/consul-dataplane:2.0.1", "essential": true, "user": "5995",
    "entryPoint": ["/consul/consul-ecs", "envoy-entrypoint"],
    "command": ["consul-dataplane", "-config-file", "/consul/consul-dataplane.json"],
    "mountPoints": [{ "sourceVolume": "consul_data", "containerPath": "/consul", "readOnly": true }],
    "dependsOn": [{ "containerName": "consul-ecs-mesh-init", "condition": "SUCCESS" }],
    "healthCheck": {
        "command": ["/consul/consul-ecs", "net-dial", "127.0.0.1:22000"], "interval": 5, "timeout": 5, "retries": 10
    },
    "ulimits": [{ "name": "nofile", "softLimit": 1048576, "hardLimit": 1048576 }],
    "portMappings": [{ "containerPort": 8443, "hostPort": 8443, "protocol": "tcp" }]
}"#;

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    // A proxy of the other generation is reported by the rule about mixed generations.
    let lacks_it = consul.is_complete && consul.dataplane.is_none() && consul.sidecar_proxy.is_none();
    if lacks_it && is_certainly_of_the_dataplane(consul) {
        let message = "the container consul-dataplane is missing";
        let help = "add it: Consul Dataplane's image, started by /consul/consul-ecs envoy-entrypoint";
        findings.add(Draft::new(subject.definition.span(), message, help));
    }
}

/// A task without a proxy shows its generation by its other containers.
fn is_certainly_of_the_dataplane(consul: &ConsulTask<'_>) -> bool {
    consul.control_plane.is_some()
        || consul.version().is_some_and(|version| version.minor >= 7)
        || matches!(consul.configuration.at("consulServers"), Maybe::Known(_))
}
