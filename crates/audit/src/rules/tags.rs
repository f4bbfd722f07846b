//! The tags that make a task part of the mesh.

use super::prelude::*;
use audit_read::definition::{LostTag, TaskDefinition};
use mesh::{consul_ecs::MESH_TAG, names::ServiceName};

pub(super) static CONSUL_MESH_TAG_MISSING: Rule = Rule {
    id: "consul-mesh-tag-missing",
    summary: "a task definition of the mesh has the tag consul.hashicorp.com/mesh",
    is_fixable: true,
    effect: "the controller ignores the tasks: they get no tokens, and stay in Consul after they stop",
    explanation: "\
The controllers recognize the tasks of the mesh by the tag `consul.hashicorp.com/mesh` with the value `true`. Without \
it, a task gets no token in the token mode of 0.2 to 0.4, and if it is killed, its services, checks and tokens remain \
in Consul. `aws ecs describe-task-definition` prints tags only with `--include TAGS`, and beside the definition: a pipeline \
that registers a printed definition again, with another image, loses them. Of a printed definition without tags, this is a \
warning. Of a revision in an account, the finding names the earlier revision that had the tag, and who registered the one that \
lost it.",
    sources: &[pages::CONSUL_ARCHITECTURE, pages::ECS_TAGS],
    example: Some(Base::Dataplane.missing("tags[consul.hashicorp.com/mesh]")),
    ..Rule::once_per_task(Applies::Consul, check_mesh_tag_missing)
};

fn check_mesh_tag_missing(subject: &Subject<'_>) -> Option<Draft> {
    let definition = subject.definition;
    if may_be_printed_without_tags(definition) {
        return Some(printed(definition));
    }
    matches!(definition.tag(MESH_TAG), Maybe::Absent).then(|| {
        let message = format!("the tag {MESH_TAG} is missing{}", loss(definition));
        let tag = serde_json::json!({ "key": MESH_TAG, "value": "true" });
        // CloudFormation and Terraform spell tags differently.
        let fix = Fix::append(&definition.tags, tag).filter(|_| definition.tags.is_present);
        Draft::new(definition.tags.place.span, message, "add it with the value true").fix(fix)
    })
}

/// Which earlier revision had the tag, and who registered the one without it, as the end of a sentence.
fn loss(definition: &TaskDefinition) -> String {
    let revision = definition.address.rsplit('/').next().unwrap_or_default();
    match &definition.lost_tag {
        None => String::new(),
        Some(LostTag::Unread(earlier, why)) => format!(" (whether {earlier} had it is unknown: {why})"),
        Some(LostTag::From { earlier, registered_by: None, .. }) => {
            format!(": {earlier} had it, and {revision} lost it")
        }
        Some(LostTag::From { earlier, registered_by: Some(who), registered_at }) => {
            let at = registered_at.as_ref().map(|at| format!(" at {at}")).unwrap_or_default();
            format!(": {earlier} had it, and {who} registered {revision} without it{at}")
        }
    }
}

/// The printed definition of a registered one may lack its tags.
fn may_be_printed_without_tags(definition: &TaskDefinition) -> bool {
    let is_registered = definition.address.starts_with("arn:");
    let is_live = definition.file.name.starts_with("arn:");
    is_registered && !is_live && definition.tags.items.is_empty() && definition.tags.is_complete
}

fn printed(definition: &TaskDefinition) -> Draft {
    let revision = definition.address.rsplit('/').next().unwrap_or_default();
    let message =
        format!("this is {revision} as ECS prints it without its tags: a revision made of it is not in the mesh");
    let help = "print it with --include TAGS and register its tags as well, or add them here";
    let tag = serde_json::json!({ "key": MESH_TAG, "value": "true" });
    let fix = Fix::append(&definition.tags, tag).filter(|_| definition.tags.is_present);
    Draft::new(definition.family.span(), message, help).fix(fix).severity(Severity::Warning)
}

pub(super) static CONSUL_MESH_TAG_VALUE: Rule = Rule {
    id: "consul-mesh-tag-value",
    summary: "the tag consul.hashicorp.com/mesh has the value true",
    is_fixable: true,
    effect: "the controller ignores the tasks: they get no tokens, and stay in Consul after they stop",
    explanation: "\
The controllers compare the value with `true`, case-sensitively: `True`, `yes` or `1` do not count. `false` is the \
documented value to exclude a task from the controller, and is not reported.",
    sources: &[pages::CONSUL_ARCHITECTURE],
    example: Some(Base::Dataplane.wrong("tags[consul.hashicorp.com/mesh].value", r#""True""#)),
    ..Rule::of_task(Applies::Consul, check_mesh_tag_value)
};

fn check_mesh_tag_value(subject: &Subject<'_>, findings: &mut Findings) {
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

pub(super) static CONSUL_MESH_TAG_ALONE: Rule = Rule {
    id: "consul-mesh-tag-alone",
    summary: "a task definition with the mesh's tag has the mesh's containers",
    severity: Severity::Warning,
    effect: "the controller manages the tasks, but they register no service and are unreachable in the mesh",
    explanation: "\
The tag alone has no effect on a task: the containers of consul-ecs register the service and run its proxy. A \
definition with the tag and without the containers was probably copied, or only the containers were removed. \
`ecs-mesh inject` adds the containers.",
    sources: &[pages::CONSUL_ARCHITECTURE],
    example: Some(Base::Plain.wrong("tags", r#"[{ "key": "consul.hashicorp.com/mesh", "value": "true" }]"#)),
    ..Rule::once_per_task(Applies::EveryTask, check_mesh_tag_alone)
};

fn check_mesh_tag_alone(subject: &Subject<'_>) -> Option<Draft> {
    let definition = subject.definition;
    let Maybe::Known(tag) = definition.tag(MESH_TAG) else { return None };
    (tag.value.text() == Some("true") && subject.consul.is_none() && knows_all_containers(definition)).then(|| {
        let message = format!("the tag {MESH_TAG} is true, but the task has no containers of the mesh");
        let help = "add the containers (ecs-mesh inject), or remove the tag";
        Draft::new(tag.key.span(), message, help)
    })
}

fn knows_all_containers(definition: &TaskDefinition) -> bool {
    let is_known = |container: &Container| container.name.text().is_some();
    definition.containers.is_complete && definition.containers.items.iter().all(is_known)
}

pub(super) static CONSUL_TAGS_NOT_PROPAGATED: Rule = Rule {
    id: "consul-tags-not-propagated",
    summary: "ECS services copy the task definition's tags to their tasks",
    severity: Severity::Warning,
    effect: "HashiCorp's controller, which reads the tags of tasks, silently ignores the tasks of the service",
    explanation: "\
ECS copies the tags of a task definition to its tasks only if the ECS service has `propagateTags: TASK_DEFINITION`. \
HashiCorp's controller reads only the tags of tasks: without them, tasks get no token and stay in Consul. The \
controller of this project also reads the tags of the task definition, and works either way. Tags on tasks also show \
the mesh in the console and in cost reports.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html", pages::ECS_TAGS],
    // An example is one definition, but the rule needs a service too.
    example: None,
    ..Rule::of_task(Applies::Consul, check_tags_not_propagated)
};

fn check_tags_not_propagated(subject: &Subject<'_>, findings: &mut Findings) {
    for service in &subject.definition.services {
        let propagate = &service.propagate_tags;
        let what = match (propagate.text(), propagate.is_absent()) {
            (Some("TASK_DEFINITION"), _) | (None, false) => continue,
            (Some(other), _) => format!("propagates {other}"),
            (None, true) => "propagates no tags".to_owned(),
        };
        // A service may have the mesh's tags itself, and copy those.
        let has_them = service.tags.items.iter().any(|tag| tag.key.text().is_none_or(|key| key == MESH_TAG));
        if propagate.text() == Some("SERVICE") && (has_them || !service.tags.is_complete) {
            continue;
        }
        let message = format!("the service {} {what}, and its tasks lack the mesh's tags", service.name);
        let draft = Draft::new(propagate.span(), message, "set propagateTags to TASK_DEFINITION on the service");
        findings.add(draft.in_file(&service.file));
    }
}

pub(super) static CONSUL_FAMILY_NAME: Rule = Rule {
    id: "consul-family-name",
    summary: "a family that is used as the service's name is a valid name in lower case",
    effect: "Consul makes no service identity for the name, and the task gets no token",
    explanation: "\
Without a name in the configuration, consul-ecs registers the service with the name of the task's family, in lower \
case from 0.5 on. A family may begin or end with `-` or `_`, a service's name may not. Set the name in the \
configuration and in the tag `consul.hashicorp.com/service-name`, or rename the family.",
    sources: &[
        pages::CONSUL_CONFIGURATION,
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RegisterTaskDefinition.html",
    ],
    example: Some(
        Base::Dataplane
            .wrong("family", r#""web_""#)
            .given(&[("config.service", r#"{ "port": 9090 }"#)])
            .repaired_to(r#""Web""#),
    ),
    ..Rule::once_per_task(Applies::Consul, check_family_name)
};

fn check_family_name(subject: &Subject<'_>) -> Option<Draft> {
    let family = &subject.definition.family;
    let is_its_name = subject.consul.as_ref().is_some_and(|consul| matches!(consul.configured_name(), Maybe::Absent));
    let name = family.text().filter(|name| is_its_name && ServiceName::from_family(name).is_err())?;
    let message = format!("the service is named after the family {name}, which is not a valid name");
    let help = "name the service in the configuration and in the tag, or rename the family";
    Some(Draft::new(family.span(), message, help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{audit, example::Base, rules::tests::material};
    use audit_read::definition::{Field, List, Maybe, ServiceUse, Tag, Text};
    use document::Place;

    #[test]
    fn lost_tag_names_the_revision_that_had_it() {
        let broken = Base::Dataplane.missing("tags[consul.hashicorp.com/mesh]").broken().unwrap();
        let message = |lost_tag: Option<LostTag>| {
            let mut material = material(&broken.to_string());
            material.definitions[0].address =
                "arn:aws:ecs:eu-central-1:111122223333:task-definition/checkout:42".to_owned();
            material.definitions[0].lost_tag = lost_tag;
            let findings = audit(&material);
            let found = findings.iter().find(|found| found.rule.id == CONSUL_MESH_TAG_MISSING.id).unwrap();
            found.message.clone()
        };
        let from = |who: Option<&str>, at: Option<&str>| {
            Some(LostTag::From {
                earlier: "checkout:41".to_owned(),
                registered_by: who.map(str::to_owned),
                registered_at: at.map(str::to_owned),
            })
        };
        let missing = "the tag consul.hashicorp.com/mesh is missing";
        let who = "assumed-role/github-deploy/run-812";
        for (lost_tag, end) in [
            (None, String::new()),
            (from(None, Some("2026-11-18T08:12:44Z")), ": checkout:41 had it, and checkout:42 lost it".to_owned()),
            (from(Some(who), None), format!(": checkout:41 had it, and {who} registered checkout:42 without it")),
            (
                from(Some(who), Some("2026-11-18T08:12:44Z")),
                format!(": checkout:41 had it, and {who} registered checkout:42 without it at 2026-11-18T08:12:44Z"),
            ),
            (
                Some(LostTag::Unread("checkout:41".to_owned(), "throttled".to_owned())),
                " (whether checkout:41 had it is unknown: throttled)".to_owned(),
            ),
        ] {
            assert_eq!(message(lost_tag), format!("{missing}{end}"));
        }
    }

    fn found(propagate_tags: Maybe<&str>, tags: &[&str]) -> usize {
        let field = |value: Maybe<&str>| Field {
            value: match value {
                Maybe::Known(text) => Maybe::Known(Text(text.to_owned())),
                Maybe::Absent => Maybe::Absent,
                Maybe::Unknown => Maybe::Unknown,
            },
            place: Place::default(),
        };
        let tag = |key: &&str| Tag {
            key: field(Maybe::Known(key)),
            value: field(Maybe::Known("true")),
            place: Place::default(),
        };
        let tags = tags.iter().map(tag).collect();
        let mut material = material(Base::Dataplane.json());
        let file = material.definitions[0].file.clone();
        material.definitions[0].services.push(ServiceUse {
            file,
            name: "web".to_owned(),
            service_name: field(Maybe::Absent),
            capacity_providers: List {
                items: Vec::new(),
                is_complete: true,
                place: Place::default(),
                is_present: false,
            },
            propagate_tags: field(propagate_tags),
            launch_type: field(Maybe::Absent),
            strategy: field(Maybe::Absent),
            controller: field(Maybe::Absent),
            load_balancers: List { items: Vec::new(), is_complete: true, place: Place::default(), is_present: false },
            tags: List { items: tags, is_complete: true, place: Place::default(), is_present: true },
            place: Place::default(),
        });
        let findings = audit(&material);
        findings.iter().filter(|finding| finding.rule.id == CONSUL_TAGS_NOT_PROPAGATED.id).count()
    }

    #[test]
    fn a_definition_that_ecs_printed_without_its_tags_is_a_warning() {
        let found = |tags: &str| {
            let mut definition: serde_json::Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
            let arn = "arn:aws:ecs:us-east-1:123456789012:task-definition/web:41";
            definition["taskDefinitionArn"] = arn.into();
            definition["tags"] = serde_json::from_str(tags).unwrap();
            let findings = audit(&material(&definition.to_string()));
            findings.into_iter().map(|finding| (finding.severity, finding.message)).collect::<Vec<_>>()
        };
        let message = "this is web:41 as ECS prints it without its tags: a revision made of it is not in the mesh";
        assert_eq!(found("[]"), [(Severity::Warning, message.to_owned())]);
        assert_eq!(found(r#"[{"key":"consul.hashicorp.com/mesh","value":"true"}]"#), []);
    }

    #[test]
    fn services_without_propagation_are_found() {
        assert_eq!(found(Maybe::Absent, &[]), 1);
        assert_eq!(found(Maybe::Known("NONE"), &[MESH_TAG]), 1);
        assert_eq!(found(Maybe::Known("SERVICE"), &["team"]), 1);
        assert_eq!(found(Maybe::Known("TASK_DEFINITION"), &[]), 0);
    }

    #[test]
    fn unknown_and_tagged_services_are_not_reported() {
        assert_eq!(found(Maybe::Unknown, &[]), 0);
        assert_eq!(found(Maybe::Known("SERVICE"), &[MESH_TAG]), 0);
    }
}
