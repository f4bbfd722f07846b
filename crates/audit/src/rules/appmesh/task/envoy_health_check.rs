use crate::{
    definition::{Container, Maybe},
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-envoy-health-check",
    summary: "Envoy has a health check that requests its admin interface",
    severity: Severity::Error,
    applies: Applies::AppMesh,
    is_fixable: false,
    effect: "ECS cannot determine when Envoy has its configuration: apps that wait for it never start, and others start too early",
    explanation: "\
Envoy is ready when it has got its configuration from App Mesh. Then the state at `http://localhost:9901/server_info` \
of its admin interface is `LIVE`. The port is 9901 unless `ENVOY_ADMIN_ACCESS_PORT` sets another one. A check of any \
other port checks something else. A virtual gateway, for which no container of the task waits, does not need a health \
check.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/getting-started-ecs.html",
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/envoy-config.html",
    ],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "containerDefinitions[envoy].healthCheck",
        fails: None,
        repaired: Some(
            r#"{ "command": ["CMD-SHELL", "curl -s http://localhost:9901/server_info | grep state | grep -q LIVE"], "interval": 5 }"#,
        ),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mesh) = subject.app_mesh.as_ref() else { return };
    let Some(envoy) = mesh.envoy else { return };
    let label = envoy.label();
    let command = envoy.health_check.known().and_then(|check| check.command.texts());
    let message = match (envoy.has_health_check(), command, admin_port(envoy)) {
        (Some(false), _, _) if mesh.proxy.is_some() => format!("{label} has no health check"),
        (Some(true), Some(words), Some(port)) if requests_elsewhere(&words.join(" "), port) => {
            format!("the health check of {label} does not request Envoy's admin interface on port {port}")
        }
        _ => return,
    };
    let help = "check that the state at http://localhost:9901/server_info is LIVE";
    findings.add(Draft::new(envoy.health_check.span(), message, help).of(envoy));
}

fn admin_port(envoy: &Container) -> Option<&str> {
    match envoy.variable("ENVOY_ADMIN_ACCESS_PORT") {
        Maybe::Absent => Some("9901"),
        Maybe::Known(variable) => variable.value.text(),
        Maybe::Unknown => None,
    }
}

/// Whether a command certainly makes a network request, but not to the admin interface. Another program of the image
/// may do anything.
fn requests_elsewhere(command: &str, port: &str) -> bool {
    let programs = ["curl", "wget", "nc"];
    let makes_request = command.split([' ', '/', ';', '|', '&']).any(|word| programs.contains(&word));
    makes_request && !command.contains(port) && !command.contains('$')
}
