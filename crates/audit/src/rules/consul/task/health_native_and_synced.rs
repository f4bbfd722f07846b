use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-health-native-and-synced",
    summary: "a service has either Consul checks or containers whose health is synced",
    severity: Severity::Error,
    applies: Applies::ConsulClient,
    is_fixable: false,
    effect: "mesh-init refuses the configuration and fails, so that the app never starts",
    explanation: "\
`service.checks` are checks that the task's Consul agent runs. `healthSyncContainers` are containers that ECS checks, \
and whose health is copied to Consul. mesh-init accepts one of the two and fails if both are set. Use the ECS checks \
if ECS should replace unhealthy tasks.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/architecture",
        "https://developer.hashicorp.com/consul/docs/ecs/reference/configuration-reference",
    ],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "config.service.checks",
        fails: Some(r#"[{ "name": "web", "http": "http://localhost:9090/health", "interval": "10s" }]"#),
        repaired: Some("[]"),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let configuration = &consul.configuration;
    let has = |path: &str| configuration.list(path).is_some_and(|items| !items.is_empty());
    if has("service.checks") && has("healthSyncContainers") {
        findings.add(
            Draft::new(
                configuration.place_of("service.checks").span,
                "both service.checks and healthSyncContainers are set",
                "keep one of them, and empty the other",
            )
            .note(configuration.place_of("healthSyncContainers").span, "the containers whose health is synced"),
        );
    }
}
