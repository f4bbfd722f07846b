use serde_json::json;

use crate::{
    definition::{Container, Maybe},
    example::{Base, Example},
    finding::{Change, Draft, Edit, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Generation, Subject, workloads},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-health-unsynced",
    summary: "the health of each essential container that ECS checks is synced to Consul",
    severity: Severity::Warning,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "the service gets traffic although ECS reports the task as unhealthy",
    explanation: "\
Consul gets the health of containers from health-sync, which syncs those in `healthSyncContainers`. A container that \
is essential, has an ECS health check and is not in the list counts as healthy in Consul as soon as it is registered, \
before the app answers and while it fails. Services with Consul checks (`service.checks`, with a client agent) do not \
need the list.",
    sources: &["https://developer.hashicorp.com/consul/docs/ecs/architecture"],
    example: Some(Example {
        base: Base::ControlPlane,
        given: &[],
        at: "config.healthSyncContainers",
        fails: None,
        repaired: Some(r#"["web"]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    if !consul.is_service() || has_native_checks(consul) {
        return;
    }
    let Some(synced) = consul.configuration.list("healthSyncContainers") else { return };
    if synced.iter().any(|node| node.text().is_none()) {
        return;
    }
    for app in workloads(&consul.apps) {
        let Some(name) = app.name.text() else { continue };
        let is_checked = app.is_essential() == Some(true) && app.health_check.known().is_some();
        if is_checked && !synced.iter().any(|node| node.text() == Some(name)) {
            findings.add(unsynced(consul, app, name));
        }
    }
}

/// Whether the service certainly or possibly has Consul checks.
fn has_native_checks(consul: &ConsulTask<'_>) -> bool {
    let checks = consul.configuration.list("service.checks");
    consul.generation == Generation::Client && checks.is_none_or(|checks| !checks.is_empty())
}

fn unsynced(consul: &ConsulTask<'_>, app: &Container, name: &str) -> Draft {
    let message = format!("the health of {name} is not synced to Consul");
    let help = match consul.health_sync {
        None if consul.generation == Generation::Client => {
            format!("add {name} to healthSyncContainers, and the container consul-ecs-health-sync")
        }
        _ => format!("add {name} to healthSyncContainers, in each container that has the configuration"),
    };
    // With two copies of the configuration, an edit of one would make them differ.
    let is_only_copy = consul.consul_ecs_containers().count() == 1 && consul.generation == Generation::ControlPlane;
    let list = consul.configuration.place_of("healthSyncContainers");
    let change = match consul.configuration.at("healthSyncContainers") {
        Maybe::Known(_) => Change::Append(json!(name)),
        Maybe::Absent | Maybe::Unknown => Change::Set(json!([name])),
    };
    let route = list.route.clone().filter(|_| is_only_copy);
    let fix = route.map(|route| Fix { edits: vec![Edit { route, change }] });
    Draft::new(list.span, message, help).of(app).note(app.health_check.span(), "its health check").fix(fix)
}
