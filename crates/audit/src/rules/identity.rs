//! The service, tenancy and role that a task claims.

use std::collections::BTreeMap;

use super::{gateway::is_wrong_namespace, prelude::*, tags::TaskTags};
use crate::{rule::TaskFindings, subject::Feature};
use audit_read::{
    app_mesh::Resources,
    definition::{Tag, TaskDefinition},
};
use mesh::{
    consul_ecs::{NAMESPACE_TAG, PARTITION_TAG, SERVICE_NAME_TAG},
    names::ServiceName,
};

pub(super) static CONSUL_SERVICE_NAME_TAG: Rule =
    Rule::of_task(page!("consul-service-name-tag"), Applies::Consul, check_service_name_tag);

/// The names in the configuration and in the tags, if both are certain.
struct Names<'d> {
    /// The configured name, or the family in lower case.
    pub configured: String,
    /// The name in the tag, or the family in lower case.
    pub tagged: String,
    /// The tag, if there is one.
    pub tag: Option<&'d Tag>,
    /// Where the tag is, or is missing.
    pub tags: TaskTags<'d>,
}

impl<'d> Names<'d> {
    /// The names by each of the tags that the tasks get.
    fn all_of(subject: &Subject<'d>) -> impl Iterator<Item = Self> {
        TaskTags::of(subject.definition).filter_map(move |tags| Self::of(subject, tags))
    }

    /// The names of a task whose configured name is valid. Another rule reports invalid names.
    fn of(subject: &Subject<'d>, tags: TaskTags<'d>) -> Option<Self> {
        let definition = subject.definition;
        let consul = subject.consul.as_ref()?;
        let is_lowered = consul.version().is_none_or(|version| Feature::LowerCaseFamily.is_in(version));
        let family = definition.family.text();
        let family = family.map(|family| if is_lowered { family.to_lowercase() } else { family.to_owned() });
        let configured = match consul.configured_name() {
            Maybe::Known(name) => name.to_owned(),
            Maybe::Absent => family.clone()?,
            Maybe::Unknown => return None,
        };
        let (tag, tagged) = match tags.tag(SERVICE_NAME_TAG) {
            Maybe::Known(tag) => (Some(tag), tag.value.text()?.to_owned()),
            Maybe::Absent => (None, family?),
            Maybe::Unknown => return None,
        };
        configured.parse::<ServiceName>().ok()?;
        Some(Self { configured, tagged, tag, tags })
    }
}

fn check_service_name_tag(subject: &Subject<'_>, findings: &mut Findings) {
    findings.extend(Names::all_of(subject).filter_map(other_name));
}

fn other_name(Names { configured, tagged, tag, tags }: Names<'_>) -> Option<Draft> {
    let list = tags.list();
    match tag {
        _ if configured.eq_ignore_ascii_case(&tagged) => None,
        Some(tag) => {
            let message = format!("the tag {SERVICE_NAME_TAG} is {tagged}, but the task registers {configured}");
            let help = "set the tag and the configuration's name to the same name";
            Some(tags.draft(tag.value.span(), message, help))
        }
        None if list.items.is_empty() => None,
        None => {
            let message =
                format!("without the tag {SERVICE_NAME_TAG} the name is {tagged}, but the task registers {configured}");
            let value = serde_json::json!({ "key": SERVICE_NAME_TAG, "value": configured });
            let fix = tags.fix(|| Fix::append(list, value).filter(|_| list.is_present));
            let help = format!("add the tag with the value {configured}");
            Some(tags.draft(list.place.span, message, help).fix(fix))
        }
    }
}

pub(super) static CONSUL_SERVICE_NAME_CASE: Rule =
    Rule::once_per_task(page!("consul-service-name-case"), Applies::Consul, check_service_name_case);

fn check_service_name_case(subject: &Subject<'_>) -> Option<Draft> {
    Names::all_of(subject).find_map(|Names { configured, tagged, tag, tags }| {
        let tag = tag.filter(|_| configured != tagged && configured.eq_ignore_ascii_case(&tagged))?;
        let message = format!("the tag {SERVICE_NAME_TAG} is {tagged}, but the task registers {configured}");
        let fix = tags.fix(|| Fix::set(&tag.value.place, configured.as_str()));
        Some(tags.draft(tag.value.span(), message, format!("write {configured} in the tag")).fix(fix))
    })
}

pub(super) static CONSUL_TENANCY_TAGS: Rule =
    Rule::once_per_task(page!("consul-tenancy-tags"), Applies::Consul, check_tenancy_tags);

/// A tag and its value. Empty means absent.
fn value_of<'d>(tags: TaskTags<'d>, key: &str) -> Maybe<(&'d Tag, &'d str)> {
    match tags.tag(key) {
        Maybe::Known(tag) => match tag.value.text() {
            Some("") => Maybe::Absent,
            Some(value) => Maybe::Known((tag, value)),
            None => Maybe::Unknown,
        },
        Maybe::Absent => Maybe::Absent,
        Maybe::Unknown => Maybe::Unknown,
    }
}

fn check_tenancy_tags(subject: &Subject<'_>) -> Option<Draft> {
    TaskTags::of(subject.definition).find_map(half_tenancy)
}

fn half_tenancy(tags: TaskTags<'_>) -> Option<Draft> {
    let (tag, there, missing) = match (value_of(tags, PARTITION_TAG), value_of(tags, NAMESPACE_TAG)) {
        (Maybe::Known((tag, _)), Maybe::Absent) => (tag, PARTITION_TAG, NAMESPACE_TAG),
        (Maybe::Absent, Maybe::Known((tag, _))) => (tag, NAMESPACE_TAG, PARTITION_TAG),
        _ => return None,
    };
    let message = format!("there is a tag {there}, but no tag {missing}");
    Some(tags.draft(tag.key.span(), message, format!("add {missing}, or remove {there}")))
}

pub(super) static CONSUL_TENANCY_TAGS_MATCH: Rule =
    Rule::of_task(page!("consul-tenancy-tags-match"), Applies::Consul, check_tenancy_tags_match);

fn check_tenancy_tags_match(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    TaskTags::of(subject.definition).for_each(|tags| findings.extend(other_tenancy(consul, tags)));
}

fn other_tenancy(consul: &ConsulTask<'_>, tags: TaskTags<'_>) -> Vec<Draft> {
    let section = if consul.is_gateway { "gateway" } else { "service" };
    let keys = ["partition", "namespace"].map(|key| format!("{section}.{key}"));
    let names = [PARTITION_TAG, NAMESPACE_TAG];
    let configured = keys.each_ref().map(|key| consul.configuration.name_at(key));
    let tagged = names.map(|name| value_of(tags, name));
    let is_faulty_gateway =
        consul.is_gateway && matches!(configured, [_, Maybe::Known(name)] if is_wrong_namespace(name));
    let mut drafts = Vec::new();
    // Other rules report a partition or namespace alone, and a gateway's wrong namespace.
    if is_faulty_gateway || !is_certain_pair(&configured) || !is_certain_pair(&tagged) {
        return drafts;
    }
    for (((key, name), configured), tagged) in keys.iter().zip(names).zip(configured).zip(tagged) {
        let wanted = if let Maybe::Known(name) = configured { name } else { "default" };
        let (found, span) = match tagged {
            Maybe::Known((tag, value)) => (value, tag.value.span()),
            _ => ("default", tags.list().place.span),
        };
        if wanted != found {
            let message = format!("according to the tags, the task is in {found}, but {key} is {wanted}");
            let draft = tags.draft(span, message, format!("set {name} and {key} to the same name"));
            let place = consul.configuration.place_of(key).span;
            drafts.push(if tags.is_of_definition() {
                draft.note(place, "the value in the configuration")
            } else {
                draft
            });
        }
    }
    drafts
}

/// Whether both certainly exist, or both certainly do not.
fn is_certain_pair<T>(pair: &[Maybe<T>; 2]) -> bool {
    matches!(pair, [Maybe::Known(_), Maybe::Known(_)] | [Maybe::Absent, Maybe::Absent])
}

pub(super) static CONSUL_TASK_ROLE_SHARED: Rule =
    Rule::of_tasks(page!("consul-task-role-shared"), Applies::AllTasks, check_task_role_shared);

fn check_task_role_shared(subjects: &[Subject<'_>], _: &Resources, findings: &mut TaskFindings<'_>) {
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    let logs_in = |subject: &&Subject<'_>| subject.consul.as_ref().and_then(ConsulTask::logs_in) == Some(true);
    for subject in subjects.iter().filter(logs_in) {
        let definition = subject.definition;
        let (Some(role), Some(family)) = (definition.task_role.text(), definition.family.text()) else { continue };
        if role.is_empty() {
            continue;
        }
        match first.get(role) {
            Some(other) if *other != family => {
                let message = format!("{family} and {other} have the same task role {role}");
                let help = format!("give {family} its own role, tagged with its service's name");
                findings(subject, Draft::new(definition.task_role.span(), message, help));
            }
            Some(_) => {}
            None => drop(first.insert(role, family)),
        }
    }
}

pub(super) static ECS_FAMILY_TWICE: Rule =
    Rule::of_tasks(page!("ecs-family-twice"), Applies::AllTasks, check_family_twice);

fn check_family_twice(subjects: &[Subject<'_>], _: &Resources, findings: &mut TaskFindings<'_>) {
    let mut first: BTreeMap<(&str, &str), &TaskDefinition> = BTreeMap::new();
    for subject in subjects {
        let definition = subject.definition;
        let (Some(creator), Some(family)) = (&definition.created_by, definition.family.text()) else { continue };
        let other = *first.entry((creator, family)).or_insert(definition);
        if other.address != definition.address {
            let message = format!("{} has the family {family} as well", other.address);
            let help = format!("give {} a family of its own", definition.address);
            findings(subject, Draft::new(definition.span(), message, help));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{audit, example::Base};
    use audit_read::{Material, input::read_source};
    use document::SourceFile;

    fn ids(families: &[(&str, &str)]) -> Vec<&'static str> {
        let mut material = Material::default();
        for (family, role) in families {
            let mut json: serde_json::Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
            json["family"] = (*family).into();
            let arn = |role: &str| format!("arn:aws:iam::123456789012:role/consul-ecs/{role}");
            json["taskRoleArn"] = if role.is_empty() { String::new() } else { arn(role) }.into();
            let file = SourceFile::new(format!("{family}.json"), json.to_string());
            read_source(Arc::new(file), true, &mut material).unwrap();
        }
        audit(&material).iter().map(|finding| finding.rule.id).collect()
    }

    #[test]
    fn two_families_without_a_role_share_none() {
        assert!(!ids(&[("web", ""), ("orders", "")]).contains(&CONSUL_TASK_ROLE_SHARED.id));
    }

    #[test]
    fn two_families_with_one_role_are_found_once() {
        assert_eq!(ids(&[("web", "web"), ("orders", "web"), ("stock", "stock")]), [CONSUL_TASK_ROLE_SHARED.id]);
        assert_eq!(ids(&[("web", "web"), ("orders", "orders")]), Vec::<&str>::new());
        // Two revisions of one family.
        assert_eq!(ids(&[("web", "web"), ("web", "web")]), Vec::<&str>::new());
    }
}
