use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-health-sync-containers",
    summary: "the containers whose health is synced exist and have an ECS health check",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "the container's check in Consul always stays critical, and the service gets no traffic",
    explanation: "\
For each name in `healthSyncContainers` there is a check in Consul, which passes only while ECS reports the container \
of that name as `HEALTHY`. ECS does so only for containers with a `healthCheck`, and a missing container counts as \
critical. A health check that is only in the image's `HEALTHCHECK` does not count: ECS ignores those.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/architecture",
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/healthcheck.html",
    ],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "config.healthSyncContainers",
        fails: Some(r#"["web", "shop"]"#),
        repaired: Some(r#"["web"]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(synced) = consul.configuration.list("healthSyncContainers") else { return };
    for node in synced {
        let Some(name) = node.text() else { continue };
        if let Some((message, help)) = wrong(subject, name) {
            findings.add(Draft::new(node.place.span, message, help));
        }
    }
}

fn wrong(subject: &Subject<'_>, name: &str) -> Option<(String, String)> {
    let containers = &subject.definition.containers;
    match subject.definition.container(name) {
        Maybe::Known(container) if container.health_check.is_absent() => Some((
            format!("healthSyncContainers contains {name}, which has no health check"),
            format!("give {name} a healthCheck, or remove it from healthSyncContainers"),
        )),
        Maybe::Absent if containers.items.iter().all(|container| container.name.text().is_some()) => Some((
            format!("healthSyncContainers contains {name}, but there is no such container"),
            "name a container of this definition in healthSyncContainers, or remove the name".to_owned(),
        )),
        Maybe::Known(_) | Maybe::Absent | Maybe::Unknown => None,
    }
}
