use crate::{
    definition::{Maybe, TaskDefinition},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};
use mesh::tags::MESH_TAG;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-mesh-tag-missing",
    summary: "a task definition of the mesh has the tag consul.hashicorp.com/mesh",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "the controller ignores the tasks: it creates no tokens for them, and removes nothing from Consul when they stop",
    explanation: "\
The controllers recognize the tasks of the mesh by the tag `consul.hashicorp.com/mesh` with the value `true`. Without \
it, a task gets no token in the token mode of 0.2 to 0.4, and if it is killed, its services, checks and tokens remain \
in Consul. `aws ecs describe-task-definition` prints tags only with `--include TAGS`; a printed definition without any \
tags is not checked.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/architecture",
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-using-tags.html",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "tags[consul.hashicorp.com/mesh]",
        fails: None,
        repaired: Some(r#"{ "key": "consul.hashicorp.com/mesh", "value": "true" }"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    if matches!(definition.tag(MESH_TAG), Maybe::Absent) && !may_be_printed_without_tags(definition) {
        let message = format!("the tag {MESH_TAG} is missing");
        let tag = serde_json::json!({ "key": MESH_TAG, "value": "true" });
        // CloudFormation and Terraform spell tags differently.
        let fix = Fix::append(&definition.tags, tag).filter(|_| definition.tags.is_present);
        findings.add(Draft::new(definition.tags.place.span, message, "add it with the value true").fix(fix));
    }
}

/// The printed definition of a registered one may lack its tags.
fn may_be_printed_without_tags(definition: &TaskDefinition) -> bool {
    let is_registered = definition.address.starts_with("arn:");
    let is_live = definition.file.name.starts_with("arn:");
    is_registered && !is_live && definition.tags.items.is_empty()
}
