use serde_json::json;

use super::proxy_open_files::MAX_OPEN_FILES;
use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-proxy-open-files-default",
    summary: "the proxy sets its limit of open files",
    severity: Severity::Warning,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "Envoy has the default limit of open files, and refuses connections above it",
    explanation: "\
Envoy needs a file descriptor for each connection from and to the app. Without a ulimit in the definition, a container \
gets the default of Fargate or of its host, which is too low for a busy service. The proxy's container therefore sets \
the ulimit `nofile` to 1048576 (2^20).",
    sources: &[
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Ulimit.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "containerDefinitions[consul-dataplane].ulimits",
        fails: Some("[]"),
        repaired: Some(r#"[{ "name": "nofile", "softLimit": 1048576, "hardLimit": 1048576 }]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(proxy) = subject.consul.as_ref().and_then(ConsulTask::proxy) else { return };
    if !matches!(proxy.ulimits.find_named("nofile", |limit| &limit.name), Maybe::Absent) {
        return;
    }
    let value = json!({ "name": "nofile", "softLimit": MAX_OPEN_FILES, "hardLimit": MAX_OPEN_FILES });
    let message = format!("{} has no ulimit nofile", proxy.label());
    let help = format!("add the ulimit nofile with {MAX_OPEN_FILES} for both limits");
    let draft = Draft::new(proxy.ulimits.place.span, message, help);
    findings.add(draft.of(proxy).fix(Fix::append(&proxy.ulimits, value)));
}
