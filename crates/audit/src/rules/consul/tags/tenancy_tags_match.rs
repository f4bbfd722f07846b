use super::tenancy_tags::value_of;
use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    rules::consul::gateway::namespace,
    subject::Subject,
};
use mesh::tags::{NAMESPACE_TAG, PARTITION_TAG};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-tenancy-tags-match",
    summary: "the tags name the partition and the namespace of the configuration",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "the controller looks for the service in another partition or namespace, and its token is invalid there",
    explanation: "\
mesh-init registers the service in the partition and namespace of its configuration; the controllers look for it, \
create its token and remove it in those of the task's tags, or in `default` if there are no such tags. Both have to be \
equal.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/enterprise",
        "https://developer.hashicorp.com/consul/docs/reference/ecs",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: TEAM_A,
        at: "tags[consul.hashicorp.com/namespace].value",
        fails: Some(r#""team-b""#),
        repaired: Some(r#""team-a""#),
    }),
    check: Check::Task(check),
};

const TEAM_A: &[(&str, &str)] = &[
    ("config.service.partition", r#""blue""#),
    ("config.service.namespace", r#""team-a""#),
    ("tags[consul.hashicorp.com/partition]", r#"{ "key": "consul.hashicorp.com/partition", "value": "blue" }"#),
    ("tags[consul.hashicorp.com/namespace]", r#"{ "key": "consul.hashicorp.com/namespace", "value": "team-a" }"#),
];

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let section = if consul.is_gateway { "gateway" } else { "service" };
    let keys = ["partition", "namespace"].map(|key| format!("{section}.{key}"));
    let tags = [PARTITION_TAG, NAMESPACE_TAG];
    let configured = keys.each_ref().map(|key| consul.configuration.name_at(key));
    let tagged = tags.map(|tag| value_of(subject.definition, tag));
    let is_faulty_gateway =
        consul.is_gateway && matches!(configured, [_, Maybe::Known(name)] if namespace::is_wrong(name));
    // Other rules report a partition or namespace alone, and a gateway's wrong namespace.
    if is_faulty_gateway || !is_certain_pair(&configured) || !is_certain_pair(&tagged) {
        return;
    }
    for (((key, tag), configured), tagged) in keys.iter().zip(tags).zip(configured).zip(tagged) {
        let wanted = if let Maybe::Known(name) = configured { name } else { "default" };
        let (found, span) = match tagged {
            Maybe::Known((tag, value)) => (value, tag.value.span()),
            _ => ("default", subject.definition.tags.place.span),
        };
        if wanted != found {
            let message = format!("according to the tags, the task is in {found}, but {key} is {wanted}");
            let draft = Draft::new(span, message, format!("set {tag} and {key} to the same name"));
            findings.add(draft.note(consul.configuration.place_of(key).span, "the value in the configuration"));
        }
    }
}

/// Whether both certainly exist, or both certainly do not.
fn is_certain_pair<T>(pair: &[Maybe<T>; 2]) -> bool {
    matches!(pair, [Maybe::Known(_), Maybe::Known(_)] | [Maybe::Absent, Maybe::Absent])
}
