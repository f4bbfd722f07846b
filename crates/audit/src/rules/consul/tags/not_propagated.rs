use crate::{
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};
use mesh::tags::MESH_TAG;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-tags-not-propagated",
    summary: "ECS services copy the task definition's tags to their tasks",
    severity: Severity::Warning,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "HashiCorp's controller, which reads the tags of tasks, silently ignores the tasks of the service",
    explanation: "\
ECS copies the tags of a task definition to its tasks only if the ECS service has `propagateTags: TASK_DEFINITION`; by \
default it copies none. HashiCorp's controller reads only the tags of tasks, so that such tasks get no token and are \
not removed from Consul. The controller of this project reads the tags of the task definition if a task has none, and \
works either way. Tags on tasks also show the mesh in the console, in cost reports and in other tools.",
    sources: &[
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-using-tags.html",
    ],
    // An example is one definition, but the rule needs a service too.
    example: None,
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
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
        let message = format!("the service {} {what}, so that its tasks lack the mesh's tags", service.name);
        findings.add(Draft::new(propagate.span(), message, "set propagateTags to TASK_DEFINITION on the service"));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        Material, audit,
        definition::{Field, List, Maybe, ServiceUse, Tag, Text},
        document::{Place, Route, parse_json},
        example::Base,
        input::ecs_definition,
        source::SourceFile,
    };

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
        let tags = List {
            items: tags.iter().map(tag).collect(),
            is_complete: true,
            place: Place::default(),
            is_present: true,
        };
        let file = Arc::new(SourceFile::new("web.json", Base::Dataplane.json()));
        let node = parse_json(&file.text, &Route::default()).unwrap();
        let mut definition = ecs_definition(file, &node).unwrap();
        definition.services.push(ServiceUse {
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
            tags,
            place: Place::default(),
        });
        let findings = audit(&Material { definitions: vec![definition], ..Material::default() });
        findings.iter().filter(|finding| finding.rule.id == RULE.id).count()
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
