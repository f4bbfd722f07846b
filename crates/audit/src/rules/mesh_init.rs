//! The containers that register the service, mesh-init and the control plane of consul-ecs 0.7, and the shared volumes.

use serde_json::json;

use super::{entry_point::wrong_start, fixes::mount, prelude::*, proxy::wait_for};
use crate::subject::{AgentScript, BINARY_DIRECTORY, Feature, Subcommand, names, ports, subcommand};

pub(super) static CONSUL_VOLUMES: Rule = Rule {
    id: "consul-volumes",
    summary: "the volumes that the mesh's containers share are defined",
    is_fixable: true,
    effect: "ECS refuses to register the definition",
    explanation: "\
The containers of the mesh share files on two volumes of the task: `consul_data`, to which mesh-init writes the \
program `consul-ecs` and the proxy's configuration, and `consul_binary`, to which a client agent writes the program \
`consul`. A container can mount a volume only if it is in `volumes` of the definition. Both are volumes without a \
host path, which exist as long as the task.",
    sources: &[
        pages::CONSUL_CLIENT_INSTALL,
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Volume.html",
    ],
    example: Some(Base::Client.missing("volumes[consul_binary]")),
    ..Rule::of_task(Applies::Consul, check_volumes)
};

fn check_volumes(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let volumes = &subject.definition.volumes;
    if volumes.items.iter().any(|volume| volume.name.text().is_none()) {
        return;
    }
    let mut seen = Vec::new();
    for container in mesh_containers(consul) {
        for name in container.mount_points.items.iter().filter_map(|mount| mount.source_volume.text()) {
            if !seen.contains(&name) && volumes.lacks(|volume| volume.name.text() == Some(name)) {
                seen.push(name);
                let message = format!("the volume {name}, which {} mounts, is not defined", container.label());
                let help = format!("add {{ \"name\": \"{name}\" }} to volumes");
                let fix = Fix::append(volumes, json!({ "name": name }));
                findings.add(Draft::new(volumes.place.span, message, help).fix(fix));
            }
        }
    }
}

pub(super) fn mesh_containers<'d>(consul: &ConsulTask<'d>) -> impl Iterator<Item = &'d Container> + use<'d> {
    let others = [consul.client, consul.sidecar_proxy, consul.dataplane];
    consul.consul_ecs_containers().chain(others.into_iter().flatten())
}

pub(super) static CONSUL_MESH_INIT_MISSING: Rule = Rule {
    id: "consul-mesh-init-missing",
    summary: "a container runs mesh-init",
    effect: "the task's service is never registered, and the proxy has neither its program nor its configuration",
    explanation: "\
`consul-ecs-mesh-init` prepares each task: it registers the service and its proxy in Consul, writes the proxy's \
configuration to the shared volume, and copies the program `consul-ecs` there, the entry point and the health check \
of the proxy's container. No other container of the mesh works without it. Only consul-ecs 0.7 has \
`consul-ecs-control-plane` instead.",
    sources: &[pages::CONSUL_ARCHITECTURE],
    example: Some(Base::Client.missing("containerDefinitions[consul-ecs-mesh-init]")),
    ..Rule::of_task(Applies::Consul, check_mesh_init_missing)
};

fn check_mesh_init_missing(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    if consul.generation == Generation::ControlPlane || consul.mesh_init.is_some() || !consul.is_complete {
        return;
    }
    let span = consul.proxy().map_or(subject.definition.span(), Container::span);
    findings.add(Draft::new(
        span,
        "no container runs mesh-init",
        format!("add the container {} with the image consul-ecs and the command [\"mesh-init\"]", names::MESH_INIT),
    ));
}

pub(super) static CONSUL_MESH_INIT_COMMAND: Rule = Rule {
    id: "consul-mesh-init-command",
    summary: "consul-ecs-mesh-init runs mesh-init",
    is_fixable: true,
    effect: "the task's service is never registered, and the proxy has no configuration",
    explanation: "\
The image `consul-ecs` contains one program with several commands. Without a command, it prints its help and fails, \
and another command does the work of another container. `mesh-init` registers the service and its proxy in Consul, \
writes the proxy's configuration to the shared volume and stops.",
    sources: &[pages::CONSUL_ARCHITECTURE],
    example: Some(Base::Dataplane.wrong("containerDefinitions[consul-ecs-mesh-init].command", r#"["health-sync"]"#)),
    ..Rule::once_per_task(Applies::Consul, check_mesh_init_command)
};

fn check_mesh_init_command(subject: &Subject<'_>) -> Option<Draft> {
    runs_other(subject.consul.as_ref()?.mesh_init?, "mesh-init")
}

/// Reports a container that runs another command than this one of consul-ecs.
pub(super) fn runs_other(container: &Container, command: &str) -> Option<Draft> {
    let (entry_point, words) = (container.entry_point.texts()?, container.command.texts()?);
    let mut all = entry_point.iter().chain(&words).flat_map(|word| word.split_whitespace());
    let runs_it = match subcommand(container) {
        Subcommand::Known(word) => word == command,
        // A script may run it.
        Subcommand::Absent | Subcommand::Unknown => all.any(|word| word == command),
    };
    // The entry point has a rule of its own.
    if runs_it || wrong_start(container, None).is_some() {
        return None;
    }
    let label = container.label();
    let message = if words.is_empty() {
        format!("{label} has no command")
    } else {
        format!("{label} runs {}", container.command.shown_program())
    };
    let place = &container.command.place;
    let help = format!("set its command to [\"{command}\"]");
    Some(Draft::new(place.span, message, help).of(container).fix(Fix::set(place, vec![command])))
}

pub(super) static CONSUL_MESH_INIT_ESSENTIAL: Rule = Rule {
    id: "consul-mesh-init-essential",
    summary: "consul-ecs-mesh-init is not essential",
    is_fixable: true,
    effect: "ECS refuses the definition, or stops every task as soon as mesh-init does, if no container waits for its success",
    explanation: "\
mesh-init does its work and stops. When an essential container stops, ECS stops the whole task, so ECS refuses an \
essential container whose success others wait for. The default of `essential` is true: set it to false.",
    sources: &[pages::ECS_DEPENDENCY, pages::CONSUL_CLIENT_INSTALL],
    example: Some(Base::Client.missing("containerDefinitions[consul-ecs-mesh-init].essential")),
    ..Rule::once_per_task(Applies::Consul, check_mesh_init_essential)
};

fn check_mesh_init_essential(subject: &Subject<'_>) -> Option<Draft> {
    let mesh_init = subject.consul.as_ref()?.mesh_init?;
    if mesh_init.is_essential() != Some(true) {
        return None;
    }
    let essential = &mesh_init.essential;
    let message = if essential.is_absent() {
        format!("{} is essential by default", mesh_init.label())
    } else {
        format!("{} is essential", mesh_init.label())
    };
    let fix = Fix::set(&essential.place, false);
    Some(Draft::new(essential.span(), message, "set essential to false").of(mesh_init).fix(fix))
}

pub(super) static CONSUL_MESH_INIT_MOUNTS: Rule = Rule {
    id: "consul-mesh-init-mounts",
    summary: "consul-ecs-mesh-init mounts the shared volumes, the data volume writable",
    is_fixable: true,
    effect: "mesh-init fails, or writes the proxy's configuration to a directory that the proxy does not share",
    explanation: "\
mesh-init writes the program `consul-ecs` and the proxy's configuration to the directory in `bootstrapDir`, usually \
`/consul`. Mount the volume `consul_data` there, and not read-only. With a client agent, mesh-init also runs the \
program `consul` to generate Envoy's configuration. The agent's container copies it to `/bin/consul-inject`, where \
both must mount the volume `consul_binary`.",
    sources: &[pages::CONSUL_CLIENT_INSTALL],
    example: Some(
        Base::Dataplane.wrong("containerDefinitions[consul-ecs-mesh-init].mountPoints[consul_data].readOnly", "true"),
    ),
    ..Rule::of_task(Applies::Consul, check_mesh_init_mounts)
};

fn check_mesh_init_mounts(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(mesh_init) = consul.first() else { return };
    if let Some(directory) = consul.shared_directory() {
        data(subject, mesh_init, directory, findings);
    }
    if needs_binary(consul) && matches!(mesh_init.mount_at(BINARY_DIRECTORY), Maybe::Absent) {
        missing(subject, mesh_init, "consul_binary", BINARY_DIRECTORY, true, findings);
    }
}

fn data(subject: &Subject<'_>, mesh_init: &Container, directory: &str, findings: &mut Findings) {
    match mesh_init.mount_at(directory) {
        Maybe::Absent => missing(subject, mesh_init, "consul_data", directory, false, findings),
        Maybe::Known(mount) if mount.read_only.known() == Some(&true) => {
            let message = format!("{} cannot write to {directory}", mesh_init.label());
            let place = &mount.read_only.place;
            let fix = Fix::set(place, false);
            findings.add(Draft::new(place.span, message, "set readOnly to false").of(mesh_init).fix(fix));
        }
        Maybe::Known(_) | Maybe::Unknown => {}
    }
}

/// Only if the agent's script certainly puts the program there: older definitions had it in the image.
fn needs_binary(consul: &ConsulTask<'_>) -> bool {
    consul.client.and_then(AgentScript::of).is_some_and(|script| script.mentions(BINARY_DIRECTORY))
}

fn missing(
    subject: &Subject<'_>,
    mesh_init: &Container,
    volume: &str,
    path: &str,
    read_only: bool,
    findings: &mut Findings,
) {
    let message = format!("{} mounts nothing at {path}", mesh_init.label());
    let help = format!("mount the volume {volume} at {path}");
    let fix = mount(subject.definition, mesh_init, volume, path, read_only);
    findings.add(Draft::new(mesh_init.mount_points.place.span, message, help).of(mesh_init).fix(fix));
}

pub(super) static CONSUL_CONTROL_PLANE_COMMAND: Rule = Rule {
    id: "consul-control-plane-command",
    summary: "consul-ecs-control-plane runs control-plane",
    is_fixable: true,
    effect: "the service is never registered, and Consul Dataplane never gets its configuration",
    explanation: "\
In consul-ecs 0.7, one long-running command, `control-plane`, does the work of `mesh-init` and `health-sync`, which \
do not exist in 0.7: it registers the service, writes Consul Dataplane's configuration, keeps the checks in Consul up \
to date, and deregisters the service when the task stops.",
    sources: &[pages::CONSUL_UPGRADE_TO_DATAPLANE],
    example: Some(
        Base::ControlPlane.wrong("containerDefinitions[consul-ecs-control-plane].command", r#"["mesh-init"]"#),
    ),
    ..Rule::once_per_task(Applies::ConsulDataplane, check_control_plane_command)
};

fn check_control_plane_command(subject: &Subject<'_>) -> Option<Draft> {
    runs_other(subject.consul.as_ref()?.control_plane?, "control-plane")
}

pub(super) static CONSUL_CONTROL_PLANE_HEALTH_CHECK: Rule = Rule {
    id: "consul-control-plane-health-check",
    summary: "the control plane's health check fails until the control plane is ready",
    severity: Severity::Warning,
    effect: "Consul Dataplane starts before its configuration and its entry point are on the shared volume, and fails",
    explanation: "\
The control plane of consul-ecs 0.7 answers on port 10000 at `/consul-ecs/health` when it has written the proxy's \
configuration. ECS starts `consul-dataplane` when the health check passes. `curl` without `-f`, as in the first \
Terraform module of 0.7, also succeeds if the answer is an error; 0.7.1 fixed that.",
    sources: &[pages::CONSUL_UPGRADE_TO_DATAPLANE, pages::TERRAFORM_CHANGELOG],
    example: Some(Base::ControlPlane.wrong(
        "containerDefinitions[consul-ecs-control-plane].healthCheck.command",
        r#"["CMD-SHELL", "curl localhost:10000/consul-ecs/health"]"#,
    )),
    ..Rule::once_per_task(Applies::ConsulDataplane, check_control_plane_health_check)
};

fn check_control_plane_health_check(subject: &Subject<'_>) -> Option<Draft> {
    let control_plane = subject.consul.as_ref()?.control_plane?;
    let port = ports::CONTROL_PLANE;
    let help = format!("set it to [\"CMD-SHELL\", \"curl -f localhost:{port}/consul-ecs/health\"]");
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
    let message = if !line.contains(&format!(":{port}")) {
        format!("the control plane's health check does not request port {port}, where the control plane answers")
    } else if !fails_on_errors {
        "the control plane's health check passes with every answer of the control plane: curl needs -f".to_owned()
    } else {
        return None;
    };
    let corrected = Feature::StrictHealthCheck.releases().since;
    let draft = Draft::new(health_check.command.place.span, message, help).of(control_plane);
    Some(draft.corrected_in(Some(corrected)))
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
The control plane of consul-ecs 0.7 copies the proxy's entry point, the program `consul-ecs`, and the proxy's \
configuration to the shared volume, and keeps running. Its health check passes when both are there. `SUCCESS` and \
`COMPLETE` would wait until it stops, and `START` does not wait at all.",
    sources: &[pages::CONSUL_UPGRADE_TO_DATAPLANE, pages::ECS_DEPENDENCY],
    example: Some(Base::ControlPlane.missing("containerDefinitions[consul-dataplane].dependsOn")),
    ..Rule::once_per_task(Applies::ConsulDataplane, check_dataplane_waits_for_control_plane)
};

fn check_dataplane_waits_for_control_plane(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref().filter(|consul| !consul.is_mixed())?;
    let (dataplane, name) = (consul.dataplane?, consul.control_plane?.name.text()?);
    let is_wrong = match dataplane.waits_for(name) {
        Maybe::Known(dependency) => dependency.condition.text().is_some_and(|condition| condition != "HEALTHY"),
        Maybe::Absent => true,
        Maybe::Unknown => false,
    };
    is_wrong.then(|| wait_for(dataplane, name, "HEALTHY"))
}
