use serde_json::json;

use crate::{
    definition::{Container, Maybe},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-dataplane-waits-for-control-plane",
    summary: "consul-dataplane waits until the control plane is HEALTHY",
    severity: Severity::Error,
    applies: Applies::ConsulDataplane,
    is_fixable: true,
    effect: "Consul Dataplane starts before its configuration and its entry point are on the shared volume, and fails",
    explanation: "\
The control plane of consul-ecs 0.7 copies the program `consul-ecs`, which is the proxy's entry point, and the proxy's \
configuration to the shared volume, and keeps running. Its health check shows ECS when both are there: `SUCCESS` and \
`COMPLETE` would wait until it stops, and `START` does not wait at all.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/upgrade-to-dataplanes",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDependency.html",
    ],
    example: Some(Example {
        base: Base::ControlPlane,
        given: &[],
        at: "containerDefinitions[consul-dataplane].dependsOn",
        fails: None,
        repaired: Some(r#"[{ "containerName": "consul-ecs-control-plane", "condition": "HEALTHY" }]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| !consul.is_mixed()) else { return };
    let (Some(dataplane), Some(control_plane)) = (consul.dataplane, consul.control_plane) else { return };
    let Some(name) = control_plane.name.text() else { return };
    match dataplane.waits_for(name) {
        Maybe::Known(dependency) => {
            let Some(condition) = dependency.condition.text().filter(|condition| *condition != "HEALTHY") else {
                return;
            };
            let message = format!("{} waits for {name} to be {condition}", dataplane.label());
            let place = &dependency.condition.place;
            let draft = Draft::new(place.span, message, "wait for HEALTHY");
            findings.add(draft.of(dataplane).fix(Fix::set(place, "HEALTHY")));
        }
        Maybe::Absent => findings.add(absent(dataplane, name)),
        Maybe::Unknown => {}
    }
}

fn absent(dataplane: &Container, name: &str) -> Draft {
    let message = format!("{} does not wait for {name}", dataplane.label());
    let help = format!("add {name} with the condition HEALTHY to its dependsOn");
    let fix = Fix::append(&dataplane.depends_on, json!({ "containerName": name, "condition": "HEALTHY" }));
    Draft::new(dataplane.depends_on.place.span, message, help).of(dataplane).fix(fix)
}
