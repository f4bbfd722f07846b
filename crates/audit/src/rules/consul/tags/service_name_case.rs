use super::service_name_tag::Names;
use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};
use mesh::tags::SERVICE_NAME_TAG;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-service-name-case",
    summary: "the tag consul.hashicorp.com/service-name is in lower case, like the name in the configuration",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "the token is created for another service, or not at all",
    explanation: "\
Consul compares the names in a token's rules case-sensitively, and accepts service identities only for names in lower \
case. consul-ecs writes the family in lower case from 0.5 on, but uses the tag as it is. `Web` in the tag and `web` in \
the configuration are two services.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/reference/ecs",
        "https://github.com/hashicorp/consul-ecs/blob/main/CHANGELOG.md",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "tags[consul.hashicorp.com/service-name].value",
        fails: Some(r#""Web""#),
        repaired: Some(r#""web""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(Names { configured, tagged, tag: Some(tag) }) = Names::of(subject) else { return };
    if configured != tagged && configured.eq_ignore_ascii_case(&tagged) {
        let message = format!("the tag {SERVICE_NAME_TAG} is {tagged}, but the task registers {configured}");
        let fix = Fix::set(&tag.value.place, configured.as_str());
        findings.add(Draft::new(tag.value.span(), message, format!("write {configured} in the tag")).fix(fix));
    }
}
