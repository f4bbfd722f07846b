use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Subject, is_xray_daemon},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-xray-tracing",
    summary: "in a task with an X-Ray daemon, Envoy sends traces",
    severity: Severity::Info,
    applies: Applies::AppMesh,
    is_fixable: false,
    effect: "the daemon runs, but gets no traces of Envoy",
    explanation: "\
The X-Ray daemon of the task only forwards what it receives. Envoy sends segments if `ENABLE_ENVOY_XRAY_TRACING` is \
`1`. If only the app sends traces, with X-Ray's SDK, this finding can be ignored.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/envoy-config.html",
        "https://docs.aws.amazon.com/xray/latest/devguide/xray-daemon-ecs.html",
    ],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "containerDefinitions[envoy].environment[ENABLE_ENVOY_XRAY_TRACING]",
        fails: None,
        repaired: Some(r#"{ "name": "ENABLE_ENVOY_XRAY_TRACING", "value": "1" }"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(envoy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.envoy) else { return };
    let Some(daemon) = subject.definition.containers.items.iter().find(|it| is_xray_daemon(it)) else { return };
    let is_off = match envoy.variable("ENABLE_ENVOY_XRAY_TRACING") {
        Maybe::Known(variable) => matches!(variable.value.text(), Some("0" | "false" | "")),
        Maybe::Absent => true,
        Maybe::Unknown => false,
    };
    if is_off {
        let message = format!("{} waits for traces, but {} sends none", daemon.label(), envoy.label());
        let help = "set ENABLE_ENVOY_XRAY_TRACING to 1 on the Envoy container, or remove the daemon";
        findings.add(Draft::new(daemon.span(), message, help).of(daemon));
    }
}
