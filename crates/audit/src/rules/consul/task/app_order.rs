use super::proxy_order::{is_misspelt, wait_for};
use crate::{
    definition::Container,
    example::{Base, Example},
    finding::{Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Subject, is_observer},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-app-order",
    summary: "the app starts when the proxy is healthy",
    severity: Severity::Warning,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "the app's first requests to its upstreams fail, and when the task stops, the proxy may stop before the app",
    explanation: "\
Every container of the app waits for the proxy with the condition `HEALTHY`: directly, or through another container. \
ECS then starts the app when its upstreams can be reached, and stops the containers in the opposite order. `START` is \
not enough, because the proxy opens its listeners only some time after its start. The proxy waits for mesh-init, so \
that an app that waits for the proxy does not have to wait for mesh-init too. Collectors of logs and traces are not \
reported: they should start first, as should containers that the proxy itself waits for.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/architecture",
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_definition_parameters.html",
    ],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[web].dependsOn[sidecar-proxy]",
        fails: None,
        repaired: Some(r#"{ "containerName": "sidecar-proxy", "condition": "HEALTHY" }"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(name) = consul.proxy().filter(|_| consul.is_service()).and_then(|proxy| proxy.name.text()) else { return };
    for app in consul.apps.iter().filter(|app| !is_observer(app) && !comes_first(subject, consul, app)) {
        let is_late = subject.definition.comes_after(app, name, "HEALTHY");
        if is_late == Some(false) && !is_misspelt(subject, app, name) {
            findings.add(wait_for(app, name, "HEALTHY"));
        }
    }
}

/// Whether one of the mesh's containers certainly or possibly waits for `app`.
fn comes_first(subject: &Subject<'_>, consul: &ConsulTask<'_>, app: &Container) -> bool {
    let Some(name) = app.name.text() else { return true };
    let conditions = ["START", "COMPLETE", "SUCCESS", "HEALTHY"];
    let mesh = consul.consul_ecs_containers().chain([consul.client, consul.proxy()].into_iter().flatten());
    mesh.into_iter().any(|container| {
        conditions.iter().any(|condition| subject.definition.comes_after(container, name, condition) != Some(false))
    })
}
