use super::tenancy_tags::value_of;
use crate::{
    audit::{
        example::{Base, Example},
        finding::{Draft, Findings, Severity},
        rule::{Applies, Check, Rule},
        rules::consul::gateway::namespace,
        subject::Subject,
    },
    mesh::tags::{NAMESPACE_TAG, PARTITION_TAG},
};

pub(in crate::audit::rules) static RULE: Rule = Rule {
    id: "consul-tenancy-tags-match",
    summary: "the tags name the partition and the namespace of the configuration",
    severity: Severity::Error,
    applies: Applies::Consul,
    effect: "the controller looks for the service in another place of Consul than it is in, and its token does not fit",
    explanation: "\
mesh-init registers the service in the partition and namespace of its configuration; the controllers look for it, make its token \
and clean up after it in those of the task's tags, or in `default` where there are no such tags. Both have to say the same.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/enterprise",
        "https://developer.hashicorp.com/consul/docs/reference/ecs",
    ],
    examples: &[
        Example {
            base: Base::Dataplane,
            given: TEAM_A,
            at: "tags[consul.hashicorp.com/namespace].value",
            fails: Some(r#""team-b""#),
            repaired: Some(r#""team-a""#),
        },
        Example {
            base: Base::Dataplane,
            given: TEAM_A,
            at: "config.service.partition",
            fails: Some(r#""green""#),
            repaired: Some(r#""blue""#),
        },
    ],
    check: Check::Task(check),
};

const TEAM_A: &[(&str, &str)] = &[
    ("config.service.partition", r#""blue""#),
    ("config.service.namespace", r#""team-a""#),
    ("tags[consul.hashicorp.com/partition]", r#"{ "key": "consul.hashicorp.com/partition", "value": "blue" }"#),
    ("tags[consul.hashicorp.com/namespace]", r#"{ "key": "consul.hashicorp.com/namespace", "value": "team-a" }"#),
];

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let Some(consul) = &subject.consul else { return };
    let section = if consul.is_gateway { "gateway" } else { "service" };
    let keys = [("partition", PARTITION_TAG), ("namespace", NAMESPACE_TAG)];
    let pairs = keys.map(|(key, tag)| {
        let configured = consul.configuration.name_at(&format!("{section}.{key}"))?;
        Some((key, configured, tag, value_of(subject.definition, tag)?))
    });
    let [Some(partition), Some(namespace)] = pairs else { return };
    // One alone is other rules' business, and so is a gateway's wrong namespace.
    let is_faulty_gateway = consul.is_gateway && namespace.1.is_some_and(namespace::is_wrong);
    if partition.1.is_some() != namespace.1.is_some()
        || partition.3.is_some() != namespace.3.is_some()
        || is_faulty_gateway
    {
        return;
    }
    for (key, configured, tag, tagged) in [partition, namespace] {
        let (wanted, found) = (configured.unwrap_or("default"), tagged.map_or("default", |(_, value)| value));
        if wanted != found {
            let span = tagged.map_or_else(|| subject.definition.tags.place.span, |(tag, _)| tag.value.span());
            let message = format!("by the tags the {key} is {found}, by the configuration {wanted}");
            let place = consul.configuration.place_of(&format!("{section}.{key}"));
            let draft = Draft::new(span, message, format!("set {tag} and {section}.{key} to the same {key}"));
            findings.add(draft.note(place.span, "what the configuration says"));
        }
    }
}
