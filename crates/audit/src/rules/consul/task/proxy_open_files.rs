use crate::{
    definition::{Container, Field, Maybe, TaskDefinition, Ulimit},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Subject},
};

/// 2^20: the maximum on Fargate, and on hosts with the default `fs.nr_open`.
pub(super) const MAX_OPEN_FILES: u64 = 1_048_576;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-proxy-open-files",
    summary: "the proxy may open at most 1048576 files",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "the proxy's container never starts",
    explanation: "\
Envoy needs a file descriptor for each connection, so that the proxy's container sets the ulimit `nofile` to 1048576 \
(2^20). ECS accepts higher values when the definition is registered; the container then fails with \
`CannotStartContainerError` at run time, because Fargate grants no more. EC2 and external hosts with a raised \
`fs.nr_open` do: a definition that certainly runs only on such hosts is not reported.",
    sources: &[
        "https://github.com/aws/containers-roadmap/issues/460",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Ulimit.html",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "containerDefinitions[consul-dataplane].ulimits",
        fails: Some(r#"[{ "name": "nofile", "softLimit": 2097152, "hardLimit": 2097152 }]"#),
        repaired: Some(r#"[{ "name": "nofile", "softLimit": 1048576, "hardLimit": 1048576 }]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(proxy) = subject.consul.as_ref().and_then(ConsulTask::proxy) else { return };
    if let Maybe::Known(limit) = proxy.ulimits.find_named("nofile", |limit| &limit.name)
        && !runs_elsewhere(subject.definition)
    {
        too_high(proxy, limit, findings);
    }
}

/// Whether it certainly runs on EC2 or external hosts only.
fn runs_elsewhere(definition: &TaskDefinition) -> bool {
    let on = &definition.requires_compatibilities;
    let is_named = on.texts().is_some_and(|names| !names.is_empty());
    is_named && !definition.runs_on_fargate()
}

fn too_high(proxy: &Container, limit: &Ulimit, findings: &mut Findings) {
    let exceeds = |field: &&Field<u64>| field.known().is_some_and(|value| *value > MAX_OPEN_FILES);
    let wrong: Vec<&Field<u64>> = [&limit.soft, &limit.hard].into_iter().filter(exceeds).collect();
    let Some(first) = wrong.first() else { return };
    let value = first.known().copied().unwrap_or_default();
    let fixes = wrong.iter().map(|field| Fix::set(&field.place, MAX_OPEN_FILES));
    let fix = fixes.reduce(|all, next| all?.and(next)).flatten();
    let message =
        format!("{} may open {value} files, but Fargate and default hosts grant {MAX_OPEN_FILES}", proxy.label());
    findings.add(Draft::new(first.span(), message, format!("lower it to {MAX_OPEN_FILES}")).of(proxy).fix(fix));
}
