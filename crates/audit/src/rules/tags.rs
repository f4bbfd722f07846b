//! The tags that make a task part of the mesh.

use super::prelude::*;
use audit_read::definition::{List, LostTag, ServiceUse, Tag, TaskDefinition};
use document::Span;
use mesh::{consul_ecs::MESH_TAG, names::ServiceName};

pub(super) static CONSUL_MESH_TAG_MISSING: Rule =
    Rule::once_per_task(page!("consul-mesh-tag-missing"), Applies::Consul, check_mesh_tag_missing);

fn check_mesh_tag_missing(subject: &Subject<'_>) -> Option<Draft> {
    let definition = subject.definition;
    if may_be_printed_without_tags(definition) {
        return Some(printed(definition));
    }
    // The tasks of a service may have its tags instead.
    let has_other = !definition.services.is_empty() && definition.services.iter().all(gives_the_tag);
    (matches!(definition.tag(MESH_TAG), Maybe::Absent) && !has_other).then(|| {
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

/// ECS prints tags only on demand. A list without tags was printed on demand: the revision has none.
fn may_be_printed_without_tags(definition: &TaskDefinition) -> bool {
    let is_registered = definition.address.starts_with("arn:");
    let is_live = definition.file.name.starts_with("arn:");
    is_registered && !is_live && !definition.tags.is_present && definition.tags.is_complete
}

fn printed(definition: &TaskDefinition) -> Draft {
    let revision = definition.address.rsplit('/').next().unwrap_or_default();
    let message =
        format!("this is {revision} as ECS prints it without its tags: a revision made of it is not in the mesh");
    let help = "print it with --include TAGS and register its tags as well, or add them here";
    Draft::new(definition.family.span(), message, help).severity(Severity::Warning)
}

pub(super) static CONSUL_MESH_TAG_VALUE: Rule =
    Rule::of_task(page!("consul-mesh-tag-value"), Applies::Consul, check_mesh_tag_value);

fn check_mesh_tag_value(subject: &Subject<'_>, findings: &mut Findings) {
    for tags in TaskTags::of(subject.definition) {
        let Maybe::Known(tag) = tags.tag(MESH_TAG) else { continue };
        let value = match (tag.value.text(), tag.value.is_absent()) {
            (Some(value), _) => value,
            (None, true) => "",
            (None, false) => continue,
        };
        if !matches!(value, "true" | "false") {
            let message = format!("the tag {MESH_TAG} has the value {value:?}");
            let fix = tags.fix(|| Fix::set(&tag.value.place, "true"));
            findings.add(tags.draft(tag.value.span(), message, "write true, in lower case").fix(fix));
        }
    }
}

pub(super) static CONSUL_MESH_TAG_ALONE: Rule =
    Rule::once_per_task(page!("consul-mesh-tag-alone"), Applies::EveryTask, check_mesh_tag_alone);

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

pub(super) static CONSUL_TAGS_NOT_PROPAGATED: Rule =
    Rule::of_task(page!("consul-tags-not-propagated"), Applies::Consul, check_tags_not_propagated);

fn check_tags_not_propagated(subject: &Subject<'_>, findings: &mut Findings) {
    for service in &subject.definition.services {
        let propagate = &service.propagate_tags;
        let what = match (propagate.text(), propagate.is_absent()) {
            (Some("TASK_DEFINITION"), _) | (None, false) => continue,
            (Some(other), _) => format!("propagates {other}"),
            (None, true) => "propagates no tags".to_owned(),
        };
        if gives_the_tag(service) {
            continue;
        }
        let message = format!("the service {} {what}, and its tasks lack the mesh's tags", service.name);
        let draft = Draft::new(propagate.span(), message, "set propagateTags to TASK_DEFINITION on the service");
        findings.add(draft.in_file(&service.file));
    }
}

/// Tags that tasks get: the tags of their definition, or of a service that copies its own.
#[derive(Clone, Copy)]
pub(super) struct TaskTags<'d> {
    definition: &'d TaskDefinition,
    /// The service that copies its own tags.
    service: Option<&'d ServiceUse>,
}

impl<'d> TaskTags<'d> {
    pub(super) fn of(definition: &'d TaskDefinition) -> impl Iterator<Item = Self> {
        let services = definition.services.iter().filter(|service| gives_the_tag(service)).map(Some);
        std::iter::once(None).chain(services).map(move |service| Self { definition, service })
    }

    pub(super) fn list(self) -> &'d List<Tag> {
        self.service.map_or(&self.definition.tags, |service| &service.tags)
    }

    /// The tag `key`. It is unknown where other tags decide: the controller of this project reads the definition's tag if
    /// the task has none, and a definition's tag has no effect if every service gives its own.
    pub(super) fn tag(self, key: &str) -> Maybe<&'d Tag> {
        let definition = self.definition;
        let lacks_it = |service: &ServiceUse| matches!(tag_of(service, key), Maybe::Absent);
        let is_replaced = !definition.services.is_empty()
            && definition.services.iter().all(|service| gives_the_tag(service) && !lacks_it(service));
        match self.service {
            None if is_replaced => Maybe::Unknown,
            None => definition.tag(key),
            Some(service) if lacks_it(service) && !matches!(definition.tag(key), Maybe::Absent) => Maybe::Unknown,
            Some(service) => tag_of(service, key),
        }
    }

    /// A finding at the tags, in their file.
    pub(super) fn draft(self, span: Span, message: impl Into<String>, help: impl Into<String>) -> Draft {
        let draft = Draft::new(span, message, help);
        if let Some(service) = self.service { draft.in_file(&service.file) } else { draft }
    }

    /// A fix of the definition's tags. Edits do not reach a service.
    pub(super) fn fix(self, fix: impl FnOnce() -> Option<Fix>) -> Option<Fix> {
        if self.is_of_definition() { fix() } else { None }
    }

    pub(super) fn is_of_definition(self) -> bool {
        self.service.is_none()
    }
}

fn tag_of<'s>(service: &'s ServiceUse, key: &str) -> Maybe<&'s Tag> {
    service.tags.find_named(key, |tag| &tag.key)
}

/// Whether a service has the mesh's tag itself, or may have it, and copies its tags to its tasks.
fn gives_the_tag(service: &ServiceUse) -> bool {
    let has_it = service.tags.items.iter().any(|tag| tag.key.text().is_none_or(|key| key == MESH_TAG));
    service.propagate_tags.text() == Some("SERVICE") && (has_it || !service.tags.is_complete)
}

pub(super) static CONSUL_FAMILY_NAME: Rule =
    Rule::once_per_task(page!("consul-family-name"), Applies::Consul, check_family_name);

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
    use mesh::consul_ecs::SERVICE_NAME_TAG;

    #[test]
    fn lost_tag_names_the_revision_that_had_it() {
        let broken = Base::Dataplane.with([("tags[consul.hashicorp.com/mesh]", None)]).unwrap();
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
        let found = found_in(Base::Dataplane.json(), propagate_tags, tags);
        found.iter().filter(|rule| **rule == CONSUL_TAGS_NOT_PROPAGATED.id).count()
    }

    fn found_in(definition: &str, propagate_tags: Maybe<&str>, tags: &[&str]) -> Vec<&'static str> {
        let tags: Vec<(&str, &str)> = tags.iter().map(|key| (*key, "true")).collect();
        found_with(definition, propagate_tags, &tags)
    }

    fn found_with(definition: &str, propagate_tags: Maybe<&str>, tags: &[(&str, &str)]) -> Vec<&'static str> {
        let field = |value: Maybe<&str>| Field {
            value: match value {
                Maybe::Known(text) => Maybe::Known(Text(text.to_owned())),
                Maybe::Absent => Maybe::Absent,
                Maybe::Unknown => Maybe::Unknown,
            },
            place: Place::default(),
        };
        let tag = |(key, value): &(&str, &str)| Tag {
            key: field(Maybe::Known(*key)),
            value: field(Maybe::Known(*value)),
            place: Place::default(),
        };
        let tags = tags.iter().map(tag).collect();
        let mut material = material(definition);
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
            execute_command: Field { value: Maybe::Absent, place: Place::default() },
            settings: None,
            load_balancers: List { items: Vec::new(), is_complete: true, place: Place::default(), is_present: false },
            tags: List { items: tags, is_complete: true, place: Place::default(), is_present: true },
            place: Place::default(),
        });
        audit(&material).iter().map(|finding| finding.rule.id).collect()
    }

    #[test]
    fn tag_of_a_service_that_copies_its_tags_is_not_missing() {
        let mut definition: serde_json::Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
        definition.as_object_mut().unwrap().remove("tags");
        let is_missing = |propagate_tags, tags: &[&str]| {
            let found = found_in(&definition.to_string(), propagate_tags, tags);
            found.contains(&CONSUL_MESH_TAG_MISSING.id)
        };
        assert!(!is_missing(Maybe::Known("SERVICE"), &[MESH_TAG]));
        assert!(is_missing(Maybe::Known("SERVICE"), &["team"]));
        assert!(is_missing(Maybe::Known("TASK_DEFINITION"), &[MESH_TAG]));
    }

    /// The base registers the service web.
    #[test]
    fn tags_that_a_service_gives_are_judged_like_the_tags_of_a_definition() {
        let mut untagged: serde_json::Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
        untagged.as_object_mut().unwrap().remove("tags");
        let untagged = untagged.to_string();
        let of_tags = |definition: &str, propagate_tags: &str, tags: &[(&str, &str)]| {
            let mut found = found_with(definition, Maybe::Known(propagate_tags), tags);
            let judged = [CONSUL_MESH_TAG_VALUE.id, super::super::identity::CONSUL_SERVICE_NAME_TAG.id];
            found.retain(|rule| judged.contains(rule));
            found
        };
        for value in ["yes", "True", "true ", ""] {
            let found = of_tags(&untagged, "SERVICE", &[(MESH_TAG, value)]);
            assert_eq!(found, [CONSUL_MESH_TAG_VALUE.id], "{value:?}");
            assert_eq!(of_tags(&untagged, "TASK_DEFINITION", &[(MESH_TAG, value)]), [""; 0], "{value:?} is not copied");
        }
        for value in ["true", "false"] {
            assert_eq!(of_tags(&untagged, "SERVICE", &[(MESH_TAG, value)]), [""; 0], "{value:?}");
        }
        let named = |name| [(MESH_TAG, "true"), (SERVICE_NAME_TAG, name)];
        let name_found = [super::super::identity::CONSUL_SERVICE_NAME_TAG.id];
        assert_eq!(of_tags(&untagged, "SERVICE", &named("shop")), name_found);
        assert_eq!(of_tags(&untagged, "SERVICE", &named("web")), [""; 0]);

        // The tags of a service replace the tags of the definition.
        let mut tagged: serde_json::Value = serde_json::from_str(&untagged).unwrap();
        tagged["tags"] = serde_json::json!([{ "key": MESH_TAG, "value": "True" }]);
        let tagged = tagged.to_string();
        assert_eq!(of_tags(&tagged, "TASK_DEFINITION", &[]), [CONSUL_MESH_TAG_VALUE.id]);
        assert_eq!(of_tags(&tagged, "SERVICE", &[(MESH_TAG, "true")]), [""; 0]);
    }

    #[test]
    fn a_definition_that_ecs_printed_without_its_tags_is_a_warning() {
        let found = |tags: Option<&str>| {
            let mut definition: serde_json::Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
            let arn = "arn:aws:ecs:us-east-1:123456789012:task-definition/web:41";
            definition["taskDefinitionArn"] = arn.into();
            definition.as_object_mut().unwrap().remove("tags");
            // With --include TAGS, as a key next to the definition
            let mut printed = serde_json::json!({ "taskDefinition": definition });
            if let Some(tags) = tags {
                printed["tags"] = serde_json::from_str(tags).unwrap();
            }
            let findings = audit(&material(&printed.to_string()));
            findings.into_iter().map(|finding| (finding.severity, finding.message)).collect::<Vec<_>>()
        };
        let message = "this is web:41 as ECS prints it without its tags: a revision made of it is not in the mesh";
        assert_eq!(found(None), [(Severity::Warning, message.to_owned())]);
        let lost = [(Severity::Error, "the tag consul.hashicorp.com/mesh is missing".to_owned())];
        assert_eq!(found(Some("[]")), lost);
        assert_eq!(found(Some(r#"[{"key":"team","value":"web"}]"#)), lost);
        assert_eq!(found(Some(r#"[{"key":"consul.hashicorp.com/mesh","value":"true"}]"#)), []);
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
