//! The containers that register the service, mesh-init and the control plane of consul-ecs 0.7, and the shared volumes.

use serde_json::json;

use super::{
    entry_point::wrong_start,
    fixes::{mount, usual_directory},
    prelude::*,
    proxy::{volume_at, wait_for},
};
use crate::{
    spelling::nearest,
    subject::{AgentScript, BINARY_DIRECTORY, Feature, Subcommand, is_consul_ecs, names, ports, subcommand},
};
use audit_read::definition::{MountPoint, Volume};
use mesh::consul_ecs::CONFIG_VARIABLE;

pub(super) static CONSUL_VOLUMES: Rule = Rule::of_task(page!("consul-volumes"), Applies::Consul, check_volumes);

fn check_volumes(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let volumes = &subject.definition.volumes;
    if volumes.items.iter().any(|volume| volume.name.text().is_none()) {
        return;
    }
    let mut added = Vec::new();
    for container in mesh_containers(consul) {
        for mount in &container.mount_points.items {
            let Some(name) = mount.source_volume.text() else { continue };
            if added.contains(&name) || !volumes.lacks(|volume| volume.name.text() == Some(name)) {
                continue;
            }
            let message = format!("the volume {name}, which {} mounts, is not defined", container.label());
            let draft = match meant(subject, container, mount) {
                Some((volume, false)) => {
                    added.push(name);
                    let help = format!("rename the volume {} to {name}", volume.name.text().unwrap_or_default());
                    let fix = Fix::set(&volume.name.place, name);
                    Draft::new(volume.name.span(), message, help).fix(fix)
                }
                Some((volume, true)) => {
                    let meant = volume.name.text().unwrap_or_default();
                    let place = &mount.source_volume.place;
                    let draft = Draft::new(place.span, message, format!("mount the volume {meant}"));
                    draft.of(container).fix(Fix::set(place, meant))
                }
                None => {
                    added.push(name);
                    let help = subject.definition.dialect.help_to_add_volume(name);
                    let fix = Fix::append(volumes, json!({ "name": name }));
                    Draft::new(volumes.place.span, message, help).fix(fix)
                }
            };
            findings.add(draft);
        }
    }
}

/// The volume that a mount of an undefined one is meant for, and whether some container mounts it: the one that the first
/// container mounts at the same path, or one with a similar name that the container does not mount.
fn meant<'d>(subject: &Subject<'d>, container: &Container, mount: &MountPoint) -> Option<(&'d Volume, bool)> {
    let definition = subject.definition;
    let defined = |name: &str| definition.volumes.items.iter().find(|volume| volume.name.text() == Some(name));
    let first = subject.consul.as_ref().and_then(ConsulTask::first);
    let shared = mount.container_path.text().and_then(|path| volume_at(first?, path));
    if let Some(shared) = shared.and_then(defined) {
        return Some((shared, true));
    }
    let mounts = |container: &Container, name: &str| {
        container.mount_points.items.iter().any(|mount| mount.source_volume.may_be(name))
    };
    let names = definition.volumes.items.iter().filter_map(|volume| volume.name.text());
    let near = nearest(mount.source_volume.text()?, names.filter(|name| !mounts(container, name)))?;
    let is_mounted = definition.containers.items.iter().any(|container| mounts(container, near));
    Some((defined(near)?, is_mounted))
}

pub(super) fn mesh_containers<'d>(consul: &ConsulTask<'d>) -> impl Iterator<Item = &'d Container> + use<'d> {
    let others = [consul.client, consul.sidecar_proxy, consul.dataplane];
    consul.consul_ecs_containers().chain(others.into_iter().flatten())
}

pub(super) static CONSUL_MESH_INIT_MISSING: Rule =
    Rule::of_task(page!("consul-mesh-init-missing"), Applies::Consul, check_mesh_init_missing);

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

pub(super) static CONSUL_MESH_INIT_COMMAND: Rule =
    Rule::once_per_task(page!("consul-mesh-init-command"), Applies::Consul, check_mesh_init_command);

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
    if wrong_start(container, None).is_some() {
        return None;
    }
    let label = container.label();
    if runs_it {
        return refused_words(container, command, &words);
    }
    let message = if words.is_empty() {
        format!("{label} has no command")
    } else {
        format!("{label} runs {}", container.command.shown_program())
    };
    let place = &container.command.place;
    let help = format!("set its command to [\"{command}\"]");
    Some(Draft::new(place.span, message, help).of(container).fix(Fix::set(place, vec![command])))
}

/// Words behind the subcommand, or a program before it: the image starts consul-ecs by itself, and its subcommands take no
/// arguments since they have a configuration.
fn refused_words(container: &Container, command: &str, words: &[&str]) -> Option<Draft> {
    let has_configuration = matches!(container.environment_has(CONFIG_VARIABLE), Maybe::Known(()));
    let is_started_by_image = container.entry_point.is_certainly_empty() && is_consul_ecs(container);
    if !is_started_by_image || !has_configuration || words.len() < 2 {
        return None;
    }
    let label = container.label();
    let message = if words.first() == Some(&command) {
        format!("{label} runs {command} with arguments, which it does not have")
    } else {
        format!("the image of {label} starts consul-ecs, whose subcommand has to be the first word")
    };
    let place = &container.command.place;
    let help = format!("set its command to [\"{command}\"]");
    Some(Draft::new(place.span, message, help).of(container).fix(Fix::set(place, vec![command])))
}

pub(super) static CONSUL_MESH_INIT_ESSENTIAL: Rule =
    Rule::once_per_task(page!("consul-mesh-init-essential"), Applies::Consul, check_mesh_init_essential);

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

pub(super) static CONSUL_MESH_INIT_MOUNTS: Rule =
    Rule::of_task(page!("consul-mesh-init-mounts"), Applies::Consul, check_mesh_init_mounts);

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
    let consul = subject.consul.as_ref();
    let usual = consul.and_then(|consul| usual_directory(consul, mesh_init)).filter(|_| path != BINARY_DIRECTORY);
    let fix = mount(subject.definition, mesh_init, volume, path, read_only).filter(|_| usual.is_none());
    let help = format!("mount the volume {volume} at {path}{}", usual.unwrap_or_default());
    findings.add(Draft::new(mesh_init.mount_points.place.span, message, help).of(mesh_init).fix(fix));
}

pub(super) static CONSUL_CONTROL_PLANE_COMMAND: Rule =
    Rule::once_per_task(page!("consul-control-plane-command"), Applies::ConsulDataplane, check_control_plane_command);

fn check_control_plane_command(subject: &Subject<'_>) -> Option<Draft> {
    runs_other(subject.consul.as_ref()?.control_plane?, "control-plane")
}

pub(super) static CONSUL_CONTROL_PLANE_HEALTH_CHECK: Rule = Rule::once_per_task(
    page!("consul-control-plane-health-check"),
    Applies::ConsulDataplane,
    check_control_plane_health_check,
);

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

pub(super) static CONSUL_DATAPLANE_WAITS_FOR_CONTROL_PLANE: Rule = Rule::once_per_task(
    page!("consul-dataplane-waits-for-control-plane"),
    Applies::ConsulDataplane,
    check_dataplane_waits_for_control_plane,
);

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
