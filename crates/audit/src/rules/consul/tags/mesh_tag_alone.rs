use crate::{
    definition::{Container, Maybe, TaskDefinition},
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};
use mesh::tags::MESH_TAG;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-mesh-tag-alone",
    summary: "a task definition with the mesh's tag has the mesh's containers",
    severity: Severity::Warning,
    applies: Applies::EveryTask,
    is_fixable: false,
    effect: "the controller manages the tasks, but they register no service and are not reachable through the mesh",
    explanation: "\
The tag `consul.hashicorp.com/mesh` alone has no effect on a task: the containers of consul-ecs register the service \
and run its proxy. A definition with the tag and without the containers was probably copied, or only the containers \
were removed. `ecs-mesh inject` adds the containers.",
    sources: &["https://developer.hashicorp.com/consul/docs/ecs/architecture"],
    example: Some(Example {
        base: Base::Plain,
        given: &[],
        at: "tags",
        fails: Some(r#"[{ "key": "consul.hashicorp.com/mesh", "value": "true" }]"#),
        repaired: Some("[]"),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    let Maybe::Known(tag) = definition.tag(MESH_TAG) else { return };
    if tag.value.text() == Some("true") && subject.consul.is_none() && knows_all_containers(definition) {
        let message = format!("the tag {MESH_TAG} is true, but the task has no containers of the mesh");
        let help = "add the containers (ecs-mesh inject), or remove the tag";
        findings.add(Draft::new(tag.key.span(), message, help));
    }
}

fn knows_all_containers(definition: &TaskDefinition) -> bool {
    let is_known = |container: &Container| container.name.text().is_some();
    definition.containers.is_complete && definition.containers.items.iter().all(is_known)
}
