use crate::{
    definition::{Maybe, Tag},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};
use mesh::{service_name::ServiceName, tags::SERVICE_NAME_TAG};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-service-name-tag",
    summary: "the tag consul.hashicorp.com/service-name is the name in the configuration",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "the token is created for another service than the one that the task registers, and Consul refuses the registration",
    explanation: "\
mesh-init registers the service with the name in its configuration, or with the task's family in lower case. The \
controllers read the name from the tag `consul.hashicorp.com/service-name`, or use the family as well. If the two \
differ, the token has the service identity of another service, and the registered service is never removed.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/architecture",
        "https://developer.hashicorp.com/consul/docs/reference/ecs",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[("config.service.name", r#""shop""#)],
        at: "tags[consul.hashicorp.com/service-name]",
        fails: None,
        repaired: Some(r#"{ "key": "consul.hashicorp.com/service-name", "value": "shop" }"#),
    }),
    check: Check::Task(check),
};

/// The names in the configuration and in the tags, if both are certain.
pub(super) struct Names<'d> {
    /// The configured name, or the family in lower case.
    pub configured: String,
    /// The name in the tag, or the family in lower case.
    pub tagged: String,
    /// The tag, if there is one.
    pub tag: Option<&'d Tag>,
}

impl<'d> Names<'d> {
    /// The names of a task whose configured name is valid. Another rule reports invalid names.
    pub(super) fn of(subject: &Subject<'d>) -> Option<Self> {
        let definition = subject.definition;
        let consul = subject.consul.as_ref()?;
        // Before 0.5, the family was not written in lower case.
        let is_lowered = consul.version().is_none_or(|version| version.minor >= 5);
        let family = definition.family.text();
        let family = family.map(|family| if is_lowered { family.to_lowercase() } else { family.to_owned() });
        let configured = match consul.configured_name() {
            Maybe::Known(name) => name.to_owned(),
            Maybe::Absent => family.clone()?,
            Maybe::Unknown => return None,
        };
        let (tag, tagged) = match definition.tag(SERVICE_NAME_TAG) {
            Maybe::Known(tag) => (Some(tag), tag.value.text()?.to_owned()),
            Maybe::Absent => (None, family?),
            Maybe::Unknown => return None,
        };
        configured.parse::<ServiceName>().ok()?;
        Some(Self { configured, tagged, tag })
    }
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(Names { configured, tagged, tag }) = Names::of(subject) else { return };
    if configured.eq_ignore_ascii_case(&tagged) {
        return;
    }
    let tags = &subject.definition.tags;
    findings.add(match tag {
        Some(tag) => {
            let message = format!("the tag {SERVICE_NAME_TAG} is {tagged}, but the task registers {configured}");
            Draft::new(tag.value.span(), message, "set the tag and the configuration's name to the same name")
        }
        None if tags.items.is_empty() => return,
        None => {
            let message =
                format!("without the tag {SERVICE_NAME_TAG} the name is {tagged}, but the task registers {configured}");
            let value = serde_json::json!({ "key": SERVICE_NAME_TAG, "value": configured });
            let fix = Fix::append(tags, value).filter(|_| tags.is_present);
            Draft::new(tags.place.span, message, format!("add the tag with the value {configured}")).fix(fix)
        }
    });
}
