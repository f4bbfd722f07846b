use crate::{
    definition::Container,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Subject, names},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-sidecar-proxy-missing",
    summary: "the task has a proxy",
    severity: Severity::Error,
    applies: Applies::ConsulClient,
    is_fixable: false,
    effect: "the service is registered with a sidecar that does not run: it can neither get requests from the mesh nor send any",
    explanation: "\
mesh-init registers two services, the app's and its proxy's, and writes the configuration of the proxy. The container \
`sidecar-proxy` runs Envoy with it. Without this container, the registered address of the proxy and the ports of the \
app's upstreams are closed.",
    sources: &["https://developer.hashicorp.com/consul/docs/v1.13.x/ecs/architecture"],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[sidecar-proxy]",
        fails: None,
        repaired: Some(SIDECAR_PROXY_CONTAINER),
    }),
    check: Check::Task(check),
};

const SIDECAR_PROXY_CONTAINER: &str = r#"{
    "name": "sidecar-proxy",
    "image": "envoyproxy/envoy-alpine:v1.20.7",
    "essential": false,
    "entryPoint": ["/consul/consul-ecs", "envoy-entrypoint"],
    "command": ["envoy", "--config-path", "/consul/envoy-bootstrap.json"],
    "mountPoints": [{ "sourceVolume": "consul_data", "containerPath": "/consul", "readOnly": true }],
    "dependsOn": [{ "containerName": "consul-ecs-mesh-init", "condition": "SUCCESS" }],
    "healthCheck": { "command": ["nc", "-z", "127.0.0.1", "20000"], "interval": 30, "timeout": 5, "retries": 3 },
    "ulimits": [{ "name": "nofile", "softLimit": 1048576, "hardLimit": 1048576 }]
}"#;

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    if consul.sidecar_proxy.is_some() || !consul.is_complete {
        return;
    }
    let span = consul.mesh_init.or(consul.client).map_or(subject.definition.span(), Container::span);
    findings.add(Draft::new(
        span,
        "no container runs Envoy",
        format!("add the container {} with the image of Envoy", names::SIDECAR_PROXY),
    ));
}
