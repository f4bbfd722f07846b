use serde_json::json;

use crate::audit::{
    definition::{Container, Field, Maybe, Ulimit},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Subject},
};

/// 2^20: the most that a kernel grants without sysctl settings that ECS does not offer.
const MAX_OPEN_FILES: u64 = 1_048_576;

pub(in crate::audit::rules) static RULE: Rule = Rule {
    id: "consul-proxy-open-files",
    summary: "the proxy may open 1048576 files, and not more",
    severity: Severity::Error,
    applies: Applies::Consul,
    effect: "with a low limit Envoy refuses connections under load; with one above 1048576 the container never starts",
    explanation: "\
Envoy needs a file descriptor for each connection. The default limit of a container is far below what a busy service has, so \
that the proxy's container sets the ulimit `nofile` to 1048576 (2^20). ECS accepts higher values when the definition is \
registered; the container then fails with `CannotStartContainerError` at run time, because the kernel grants no more.",
    sources: &[
        "https://github.com/aws/containers-roadmap/issues/460",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Ulimit.html",
    ],
    examples: &[
        Example {
            base: Base::Dataplane,
            given: &[],
            at: "containerDefinitions[consul-dataplane].ulimits",
            fails: Some(r#"[{ "name": "nofile", "softLimit": 2097152, "hardLimit": 2097152 }]"#),
            repaired: Some(r#"[{ "name": "nofile", "softLimit": 1048576, "hardLimit": 1048576 }]"#),
        },
        Example {
            base: Base::Client,
            given: &[],
            at: "containerDefinitions[sidecar-proxy].ulimits",
            fails: None,
            repaired: Some(r#"[{ "name": "nofile", "softLimit": 1048576, "hardLimit": 1048576 }]"#),
        },
    ],
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let Some(proxy) = subject.consul.as_ref().and_then(ConsulTask::proxy) else { return };
    match proxy.ulimits.find_named("nofile", |limit| &limit.name) {
        Maybe::Known(limit) => too_high(proxy, limit, findings),
        Maybe::Absent => {
            let value = json!({ "name": "nofile", "softLimit": MAX_OPEN_FILES, "hardLimit": MAX_OPEN_FILES });
            let message = format!("{} has no ulimit nofile", proxy.label());
            let help = format!("add the ulimit nofile with {MAX_OPEN_FILES} for both limits");
            let draft = Draft::new(proxy.ulimits.place.span, message, help);
            findings.add(draft.of(proxy).fix(Fix::append(&proxy.ulimits, value)));
        }
        Maybe::Unknown => {}
    }
}

fn too_high(proxy: &Container, limit: &Ulimit, findings: &mut Findings<'_>) {
    let exceeds = |field: &&Field<u64>| field.known().is_some_and(|value| *value > MAX_OPEN_FILES);
    let wrong: Vec<&Field<u64>> = [&limit.soft, &limit.hard].into_iter().filter(exceeds).collect();
    let Some(first) = wrong.first() else { return };
    let value = first.known().copied().unwrap_or_default();
    let fixes = wrong.iter().map(|field| Fix::set(&field.place, MAX_OPEN_FILES));
    let fix = fixes.reduce(|all, next| all?.and(next)).flatten();
    let message = format!("{} may open {value} files, but no kernel grants more than {MAX_OPEN_FILES}", proxy.label());
    findings.add(Draft::new(first.span(), message, format!("lower it to {MAX_OPEN_FILES}")).of(proxy).fix(fix));
}
