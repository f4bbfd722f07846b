use crate::{
    definition::{Container, Maybe},
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-xray-daemon",
    summary: "a task whose Envoy sends traces has an X-Ray daemon",
    severity: Severity::Warning,
    applies: Applies::AppMesh,
    is_fixable: false,
    effect: "Envoy sends its traces to UDP port 2000 of the task, which is closed, and they are lost",
    explanation: "\
With `ENABLE_ENVOY_XRAY_TRACING`, Envoy sends a segment for every request to 127.0.0.1:2000. The X-Ray daemon, or a \
collector with the same protocol, has to run in the same task and forward them.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/envoy-config.html",
        "https://docs.aws.amazon.com/xray/latest/devguide/xray-daemon-ecs.html",
    ],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "containerDefinitions[xray-daemon]",
        fails: None,
        repaired: Some(
            r#"{ "name": "xray-daemon", "image": "amazon/aws-xray-daemon", "user": "1337", "portMappings": [{ "containerPort": 2000, "protocol": "udp" }] }"#,
        ),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(envoy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.envoy) else { return };
    let tracing = match envoy.variable("ENABLE_ENVOY_XRAY_TRACING") {
        Maybe::Known(tracing) if matches!(tracing.value.text(), Some("1" | "true")) => tracing,
        _ => return,
    };
    let is_elsewhere = !matches!(envoy.variable("XRAY_DAEMON_PORT"), Maybe::Absent);
    if !is_elsewhere && subject.definition.containers.lacks(may_take_traces) {
        let message = format!("{} sends traces, but no container listens on UDP port 2000", envoy.label());
        let help = "add a container with amazon/aws-xray-daemon and the port mapping 2000/udp, or remove the variable";
        findings.add(Draft::new(tracing.place.span, message, help).of(envoy));
    }
}

fn may_take_traces(container: &Container) -> bool {
    let collectors = ["xray", "otel", "cloudwatch-agent"];
    let image = container.image.known();
    let is_collector =
        image.is_none_or(|image| image.tail().is_empty() || collectors.iter().any(|name| image.mentions(name)));
    let mappings = &container.port_mappings;
    is_collector
        || !mappings.is_complete
        || mappings.items.iter().any(|it| it.container_port.or(2000) == Some(2000) || it.container_port.is_unknown())
}
