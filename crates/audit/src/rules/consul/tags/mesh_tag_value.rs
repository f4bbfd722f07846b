use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};
use mesh::tags::MESH_TAG;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-mesh-tag-value",
    summary: "the tag consul.hashicorp.com/mesh has the value true",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "the controller ignores the tasks: it creates no tokens for them, and removes nothing from Consul when they stop",
    explanation: "\
The controllers compare the value of `consul.hashicorp.com/mesh` with `true`, case-sensitively. With `True`, `TRUE`, \
`yes` or `1`, the task is not one of the mesh. `false` is the documented value to exclude a task from the controller \
on purpose, and is not reported.",
    sources: &["https://developer.hashicorp.com/consul/docs/ecs/architecture"],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "tags[consul.hashicorp.com/mesh].value",
        fails: Some(r#""True""#),
        repaired: Some(r#""true""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Maybe::Known(tag) = subject.definition.tag(MESH_TAG) else { return };
    let value = match (tag.value.text(), tag.value.is_absent()) {
        (Some(value), _) => value,
        (None, true) => "",
        (None, false) => return,
    };
    if !matches!(value, "true" | "false") {
        let message = format!("the tag {MESH_TAG} has the value {value:?}");
        let fix = Fix::set(&tag.value.place, "true");
        findings.add(Draft::new(tag.value.span(), message, "write true, in lower case").fix(fix));
    }
}
