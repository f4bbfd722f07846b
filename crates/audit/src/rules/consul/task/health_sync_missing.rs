use crate::{
    document::Node,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Generation, Subject, names},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-health-sync-missing",
    summary: "the task has a health-sync container if Consul has checks for it to update",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "the checks that mesh-init registers always stay critical, and the service gets no traffic",
    explanation: "\
mesh-init registers a check for each container in `healthSyncContainers`, and every check starts as critical. \
health-sync copies the health of these containers from ECS to Consul; nothing else makes the checks pass. In the \
dataplane generation (consul-ecs 0.8 and newer), the proxy has a check too, so that health-sync is always needed, also \
in gateways. It also logs the task out of Consul when the task stops. In consul-ecs 0.7, the control plane does this.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/architecture",
        "https://developer.hashicorp.com/consul/docs/ecs/reference/configuration-reference",
    ],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-ecs-health-sync]",
        fails: None,
        repaired: Some(HEALTH_SYNC_OF_CLIENT),
    }),
    check: Check::Task(check),
};

const HEALTH_SYNC_OF_CLIENT: &str = r#"{
    "name": "consul-ecs-health-sync",
    "image": "public.ecr.aws/hashicorp/consul-ecs:0.4.3",
    "essential": false,
    "command": ["health-sync"],
    "environment": [{
        "name": "CONSUL_ECS_CONFIG_JSON",
        "value": "{\"bootstrapDir\":\"/consul\",\"healthSyncContainers\":[\"web\"],\"service\":{\"name\":\"web\",\"port\":9090,\"tags\":[],\"meta\":{}},\"proxy\":{\"upstreams\":[{\"destinationName\":\"orders\",\"localBindPort\":1234}]}}"
    }],
    "dependsOn": [{ "containerName": "consul-ecs-mesh-init", "condition": "SUCCESS" }]
}"#;

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    if consul.health_sync.is_some() || !consul.is_complete {
        return;
    }
    let Some(mesh_init) = consul.mesh_init else { return };
    if let Some(message) = need(consul) {
        let help = format!(
            "add the container {} with the image and configuration of {} and the command [\"health-sync\"]",
            names::HEALTH_SYNC,
            mesh_init.label()
        );
        findings.add(Draft::new(mesh_init.span(), message, help));
    }
}

/// The reason for health-sync, if there is one.
fn need(consul: &ConsulTask<'_>) -> Option<String> {
    let synced: Vec<&str> = consul.configuration.list("healthSyncContainers")?.iter().filter_map(Node::text).collect();
    match consul.generation {
        Generation::ControlPlane => None,
        Generation::Dataplane => Some("no container runs health-sync".to_owned()),
        Generation::Client if synced.is_empty() => None,
        Generation::Client => Some(format!("no container runs health-sync, which {} needs", synced.join(", "))),
    }
}
