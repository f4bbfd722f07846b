use serde_json::json;

use crate::{
    definition::{Container, Maybe},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{Generation, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-proxy-order",
    summary: "the proxy starts after mesh-init has succeeded",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "the proxy starts before its program and its configuration exist, and fails",
    explanation: "\
The proxy's container starts with a program that mesh-init copies to the shared volume, and with a configuration that \
mesh-init writes. Both certainly exist only after mesh-init has succeeded: with `START`, the proxy starts too early, \
and with `COMPLETE`, also after mesh-init has failed. `HEALTHY` is not possible for a container that stops.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/architecture",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDependency.html",
    ],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[sidecar-proxy].dependsOn",
        fails: Some("[]"),
        repaired: Some(r#"[{ "containerName": "consul-ecs-mesh-init", "condition": "SUCCESS" }]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let (Some(proxy), Some(mesh_init)) = (consul.proxy(), consul.mesh_init) else { return };
    let Some(name) = mesh_init.name.text().filter(|_| consul.generation != Generation::ControlPlane) else { return };
    if subject.definition.comes_after(proxy, name, "SUCCESS") == Some(false) && !is_misspelt(subject, proxy, name) {
        findings.add(wait_for(proxy, name, "SUCCESS"));
    }
}

/// Whether a dependency of a container is probably meant for `name`, but has an unknown container or condition: other
/// rules report that.
pub(super) fn is_misspelt(subject: &Subject<'_>, container: &Container, name: &str) -> bool {
    let containers = &subject.definition.containers;
    container.depends_on.items.iter().any(|dependency| {
        let waits_for_unknown = dependency.container.text().is_some_and(|awaited| {
            containers.lacks(|other| other.is_called(awaited) || other.name.text().is_none())
                && !subject.misses(awaited)
        });
        let is_for_it = dependency.container.text() == Some(name);
        let is_known = dependency
            .condition
            .text()
            .is_none_or(|found| ["START", "COMPLETE", "SUCCESS", "HEALTHY"].contains(&found));
        waits_for_unknown || (is_for_it && !is_known)
    })
}

/// The draft for a container that should wait for another one, and does not or with the wrong condition.
pub(super) fn wait_for(container: &Container, name: &str, condition: &str) -> Draft {
    let help = format!("make {} wait for {name}, condition {condition}", container.label());
    let draft = match container.waits_for(name) {
        Maybe::Known(dependency) => {
            let place = &dependency.condition.place;
            let found = dependency.condition.text().unwrap_or_default();
            let message = format!("{} waits for {name} with the condition {found}", container.label());
            Draft::new(place.span, message, help).fix(Fix::set(place, condition))
        }
        Maybe::Absent | Maybe::Unknown => {
            let value = json!({ "containerName": name, "condition": condition });
            let fix = Fix::append(&container.depends_on, value);
            let message = format!("{} does not wait for {name}", container.label());
            Draft::new(container.depends_on.place.span, message, help).fix(fix)
        }
    };
    draft.of(container)
}
