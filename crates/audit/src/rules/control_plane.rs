//! The control plane of consul-ecs 0.7.

use serde_json::json;

use super::prelude::*;

pub(super) static CONSUL_CONTROL_PLANE_COMMAND: Rule = Rule {
    id: "consul-control-plane-command",
    summary: "consul-ecs-control-plane runs control-plane",
    is_fixable: true,
    effect: "the service is never registered, and Consul Dataplane never gets its configuration",
    explanation: "\
In consul-ecs 0.7 one long-running command, `control-plane`, does what `mesh-init` and `health-sync` do in the other releases: it \
registers the service, writes Consul Dataplane's configuration, keeps the checks in Consul up to date and deregisters the service \
in the end. The commands `mesh-init` and `health-sync` do not exist in 0.7.",
    sources: &[pages::CONSUL_UPGRADE_TO_DATAPLANE],
    example: Some(
        Base::ControlPlane.wrong("containerDefinitions[consul-ecs-control-plane].command", r#"["mesh-init"]"#),
    ),
    ..Rule::once_per_task(Applies::ConsulDataplane, check_control_plane_command)
};

fn check_control_plane_command(subject: &Subject<'_>) -> Option<Draft> {
    let control_plane = subject.consul.as_ref()?.control_plane?;
    let command = control_plane.command.texts()?;
    if command.first() == Some(&"control-plane") {
        return None;
    }
    let message = if command.is_empty() {
        format!("{} has no command", control_plane.label())
    } else {
        format!("{} runs {}", control_plane.label(), control_plane.command.shown_program())
    };
    let place = &control_plane.command.place;
    let fix = Fix::set(place, vec!["control-plane"]);
    Some(Draft::new(place.span, message, "set its command to [\"control-plane\"]").of(control_plane).fix(fix))
}

pub(super) static CONSUL_CONTROL_PLANE_HEALTH_CHECK: Rule = Rule {
    id: "consul-control-plane-health-check",
    summary: "the control plane's health check fails until the control plane is ready",
    severity: Severity::Warning,
    effect: "Consul Dataplane starts before its configuration and its entry point are on the shared volume, and fails",
    explanation: "\
The control plane of consul-ecs 0.7 answers on port 10000 at `/consul-ecs/health` when the proxy's configuration is \
written. ECS starts `consul-dataplane` when the health check passes. The first Terraform module of 0.7 used `curl` \
without `-f`, which also succeeds if the answer is an error; 0.7.1 fixed that.",
    sources: &[pages::CONSUL_UPGRADE_TO_DATAPLANE, pages::TERRAFORM_CHANGELOG],
    example: Some(Base::ControlPlane.wrong(
        "containerDefinitions[consul-ecs-control-plane].healthCheck.command",
        r#"["CMD-SHELL", "curl localhost:10000/consul-ecs/health"]"#,
    )),
    ..Rule::once_per_task(Applies::ConsulDataplane, check_control_plane_health_check)
};

fn check_control_plane_health_check(subject: &Subject<'_>) -> Option<Draft> {
    let control_plane = subject.consul.as_ref()?.control_plane?;
    let help = "set it to [\"CMD-SHELL\", \"curl -f localhost:10000/consul-ecs/health\"]";
    if control_plane.has_health_check() == Some(false) {
        let message = format!("{} has no health check", control_plane.label());
        return Some(Draft::new(control_plane.health_check.span(), message, help).of(control_plane));
    }
    let health_check = control_plane.health_check.known()?;
    let words = health_check.command.texts()?;
    let line = words.join(" ");
    // A user's own script may check it in another way.
    if !line.contains("curl") {
        return None;
    }
    let fails_on_errors =
        line.split_whitespace().any(|word| word.starts_with("--fail") || is_short_flags_with(word, 'f'));
    let message = if !line.contains(":10000") {
        "the control plane's health check does not request port 10000, where the control plane answers"
    } else if !fails_on_errors {
        "the control plane's health check passes with every answer of the control plane: curl needs -f"
    } else {
        return None;
    };
    Some(Draft::new(health_check.command.place.span, message, help).of(control_plane))
}

/// `-f`, `-sf`, `-fsS`.
fn is_short_flags_with(word: &str, flag: char) -> bool {
    word.strip_prefix('-').is_some_and(|flags| !flags.starts_with('-') && flags.contains(flag))
}

pub(super) static CONSUL_DATAPLANE_WAITS_FOR_CONTROL_PLANE: Rule = Rule {
    id: "consul-dataplane-waits-for-control-plane",
    summary: "consul-dataplane waits until the control plane is HEALTHY",
    is_fixable: true,
    effect: "Consul Dataplane starts before its configuration and its entry point are on the shared volume, and fails",
    explanation: "\
The control plane of consul-ecs 0.7 copies the program `consul-ecs`, which is the proxy's entry point, and the proxy's \
configuration to the shared volume, and keeps running. Its health check shows ECS when both are there: `SUCCESS` and \
`COMPLETE` would wait until it stops, and `START` does not wait at all.",
    sources: &[pages::CONSUL_UPGRADE_TO_DATAPLANE, pages::ECS_DEPENDENCY],
    example: Some(Base::ControlPlane.missing("containerDefinitions[consul-dataplane].dependsOn")),
    ..Rule::of_task(Applies::ConsulDataplane, check_dataplane_waits_for_control_plane)
};

fn check_dataplane_waits_for_control_plane(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| !consul.is_mixed()) else { return };
    let (Some(dataplane), Some(control_plane)) = (consul.dataplane, consul.control_plane) else { return };
    let Some(name) = control_plane.name.text() else { return };
    match dataplane.waits_for(name) {
        Maybe::Known(dependency) => {
            let Some(condition) = dependency.condition.text().filter(|condition| *condition != "HEALTHY") else {
                return;
            };
            let message = format!("{} waits for {name} to be {condition}", dataplane.label());
            let place = &dependency.condition.place;
            let draft = Draft::new(place.span, message, "wait for HEALTHY");
            findings.add(draft.of(dataplane).fix(Fix::set(place, "HEALTHY")));
        }
        Maybe::Absent => findings.add(absent(dataplane, name)),
        Maybe::Unknown => {}
    }
}

fn absent(dataplane: &Container, name: &str) -> Draft {
    let message = format!("{} does not wait for {name}", dataplane.label());
    let help = format!("add {name} with the condition HEALTHY to its dependsOn");
    let fix = Fix::append(&dataplane.depends_on, json!({ "containerName": name, "condition": "HEALTHY" }));
    Draft::new(dataplane.depends_on.place.span, message, help).of(dataplane).fix(fix)
}
