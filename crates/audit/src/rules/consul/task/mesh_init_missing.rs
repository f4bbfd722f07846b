use crate::{
    definition::Container,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Generation, Subject, names},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-mesh-init-missing",
    summary: "a container runs mesh-init",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "the task's service is never registered, and the proxy has neither its program nor its configuration",
    explanation: "\
`consul-ecs-mesh-init` prepares each task: it registers the service and its proxy in Consul, writes the proxy's \
configuration to the shared volume, and copies the program `consul-ecs` there, which is the entry point and the health \
check of the proxy's container. No other container of the mesh works without it. Only consul-ecs 0.7 has \
`consul-ecs-control-plane` instead.",
    sources: &["https://developer.hashicorp.com/consul/docs/ecs/architecture"],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-ecs-mesh-init]",
        fails: None,
        repaired: Some(MESH_INIT_OF_CLIENT),
    }),
    check: Check::Task(check),
};

const MESH_INIT_OF_CLIENT: &str = r#"{
    "name": "consul-ecs-mesh-init",
    "image": "public.ecr.aws/hashicorp/consul-ecs:0.4.3",
    "essential": false,
    "command": ["mesh-init"],
    "environment": [{
        "name": "CONSUL_ECS_CONFIG_JSON",
        "value": "{\"bootstrapDir\":\"/consul\",\"healthSyncContainers\":[\"web\"],\"service\":{\"name\":\"web\",\"port\":9090,\"tags\":[],\"meta\":{}},\"proxy\":{\"upstreams\":[{\"destinationName\":\"orders\",\"localBindPort\":1234}]}}"
    }],
    "mountPoints": [
        { "sourceVolume": "consul_data", "containerPath": "/consul", "readOnly": false },
        { "sourceVolume": "consul_binary", "containerPath": "/bin/consul-inject", "readOnly": true }
    ],
    "secrets": [{
        "name": "CONSUL_HTTP_TOKEN",
        "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-web-AbCdEf:token::"
    }]
}"#;

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    if consul.generation == Generation::ControlPlane || consul.mesh_init.is_some() || !consul.is_complete {
        return;
    }
    let span = consul.proxy().map_or(subject.definition.span(), Container::span);
    findings.add(Draft::new(
        span,
        "no container runs mesh-init",
        format!("add the container {} with the image consul-ecs and the command [\"mesh-init\"]", names::MESH_INIT),
    ));
}
