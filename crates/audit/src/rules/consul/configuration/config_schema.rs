use super::schema::{Fault, problems};
use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-config-schema",
    summary: "the configuration has the fields, types and values that consul-ecs accepts",
    severity: Severity::Error,
    applies: Applies::ConsulAndController,
    is_fixable: false,
    effect: "consul-ecs refuses the configuration and fails, so that the task never joins the mesh, or never runs the controller",
    explanation: "\
consul-ecs checks its configuration against a JSON schema before anything else. Keys are in camel case \
(`destinationName`, not `destination_name`), ports are numbers and not strings, and an unknown key is an error in most \
places. This rule knows the fields of all releases from 0.3 on. The rule `consul-config-version` checks whether the \
image's release knows a field, and `consul-config-ignored` reports keys that consul-ecs ignores.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/reference/ecs",
        "https://developer.hashicorp.com/consul/docs/reference/ecs/server-json",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "config.proxy.upstreams",
        fails: Some(r#"[{ "destinationName": "orders", "localBindPort": 1234, "destination_type": "service" }]"#),
        repaired: Some(r#"[{ "destinationName": "orders", "localBindPort": 1234, "destinationType": "service" }]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul_ecs) = subject.consul_ecs() else { return };
    for problem in problems(&consul_ecs) {
        let path = &problem.path;
        let (message, help) = match &problem.fault {
            Fault::Unknown { is_refused: true, nearest: Some(nearest) } => {
                (format!("no release of consul-ecs knows {path}"), format!("write {nearest}"))
            }
            Fault::Unknown { is_refused: true, nearest: None } => {
                (format!("no release of consul-ecs knows {path}"), "remove it".to_owned())
            }
            Fault::Missing => (format!("{path} is missing"), format!("set {path}")),
            Fault::WrongType(wanted, found) => {
                (format!("{path} is {found}, and has to be {wanted}"), format!("write {wanted}"))
            }
            Fault::WrongValue(how) => (format!("{path} {how}"), "use a valid value".to_owned()),
            Fault::Unknown { is_refused: false, .. } | Fault::OtherVersion { .. } => continue,
        };
        let draft = Draft::new(problem.span, message, help);
        findings.add(consul_ecs.of_holder(draft));
    }
}
