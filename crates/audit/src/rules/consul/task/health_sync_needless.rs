use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-health-sync-needless",
    summary: "the task has a health-sync container only if it has something to do",
    severity: Severity::Info,
    applies: Applies::ConsulClient,
    is_fixable: false,
    effect: "a container takes memory and starts with every task, and does nothing",
    explanation: "\
With a client agent, health-sync has two purposes: to copy the health of the containers in `healthSyncContainers` from \
ECS to Consul, and to log the task out of Consul when it stops, if it logged in with an auth method. With an empty \
list and without a login, it only waits. That is the case if the service has Consul checks, or if no container has a \
health check.",
    sources: &["https://developer.hashicorp.com/consul/docs/ecs/architecture"],
    example: Some(Example {
        base: Base::Client,
        given: &[
            (
                "config.service.checks",
                r#"[{ "name": "web", "http": "http://localhost:9090/health", "interval": "10s" }]"#,
            ),
            ("config.healthSyncContainers", "[]"),
        ],
        at: "containerDefinitions[consul-ecs-health-sync]",
        fails: Some(HEALTH_SYNC_CONTAINER),
        repaired: None,
    }),
    check: Check::Task(check),
};

const HEALTH_SYNC_CONTAINER: &str = r#"{
    "name": "consul-ecs-health-sync",
    "image": "public.ecr.aws/hashicorp/consul-ecs:0.4.3",
    "essential": false,
    "command": ["health-sync"],
    "environment": [{
        "name": "CONSUL_ECS_CONFIG_JSON",
        "value": "{\"bootstrapDir\":\"/consul\",\"healthSyncContainers\":[],\"service\":{\"name\":\"web\",\"port\":9090,\"tags\":[],\"meta\":{},\"checks\":[{\"name\":\"web\",\"http\":\"http://localhost:9090/health\",\"interval\":\"10s\"}]},\"proxy\":{\"upstreams\":[{\"destinationName\":\"orders\",\"localBindPort\":1234}]}}"
    }],
    "dependsOn": [{ "containerName": "consul-ecs-mesh-init", "condition": "SUCCESS" }]
}"#;

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(health_sync) = consul.health_sync else { return };
    let configuration = &consul.configuration;
    let has_nothing_to_sync = configuration.list("healthSyncContainers").is_some_and(<[_]>::is_empty);
    // If a container is missing in the list, another rule reports that.
    let could_sync = consul.apps.iter().any(|app| app.is_essential() != Some(false) && !app.health_check.is_absent());
    let has_native_checks = configuration.list("service.checks").is_some_and(|checks| !checks.is_empty());
    let has_nothing_to_do = has_nothing_to_sync && (has_native_checks || !could_sync);
    if has_nothing_to_do && configuration.flag("consulLogin.enabled", false) == Some(false) {
        findings.add(
            Draft::new(
                health_sync.span(),
                format!("{} has no container to sync and no login to end", health_sync.label()),
                "remove it, or add containers to healthSyncContainers",
            )
            .of(health_sync),
        );
    }
}
