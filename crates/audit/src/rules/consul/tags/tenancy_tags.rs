use crate::{
    definition::{Maybe, Tag, TaskDefinition},
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};
use mesh::tags::{NAMESPACE_TAG, PARTITION_TAG};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-tenancy-tags",
    summary: "the tags name both a partition and a namespace, or neither",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "the controller reports an error and creates no token for the task",
    explanation: "\
With Consul Enterprise, the tags `consul.hashicorp.com/partition` and `consul.hashicorp.com/namespace` contain the \
partition and namespace of the service. The controllers require both or neither; without them, both are `default`. \
They report an error if only one of them is set.",
    sources: &["https://developer.hashicorp.com/consul/docs/ecs/enterprise"],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "tags[consul.hashicorp.com/partition]",
        fails: Some(r#"{ "key": "consul.hashicorp.com/partition", "value": "default" }"#),
        repaired: None,
    }),
    check: Check::Task(check),
};

/// A tag and its value. Empty means absent.
pub(super) fn value_of<'d>(definition: &'d TaskDefinition, key: &str) -> Maybe<(&'d Tag, &'d str)> {
    match definition.tag(key) {
        Maybe::Known(tag) => match tag.value.text() {
            Some("") => Maybe::Absent,
            Some(value) => Maybe::Known((tag, value)),
            None => Maybe::Unknown,
        },
        Maybe::Absent => Maybe::Absent,
        Maybe::Unknown => Maybe::Unknown,
    }
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    let (tag, there, missing) = match (value_of(definition, PARTITION_TAG), value_of(definition, NAMESPACE_TAG)) {
        (Maybe::Known((tag, _)), Maybe::Absent) => (tag, PARTITION_TAG, NAMESPACE_TAG),
        (Maybe::Absent, Maybe::Known((tag, _))) => (tag, NAMESPACE_TAG, PARTITION_TAG),
        _ => return,
    };
    let message = format!("there is a tag {there}, but no tag {missing}");
    findings.add(Draft::new(tag.key.span(), message, format!("add {missing}, or remove {there}")));
}
