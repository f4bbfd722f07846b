//! The images of consul-ecs, and the generations that they belong to.

use super::prelude::*;
use crate::subject::{
    ControllerKind, ControllerTask, Software, Subcommand, consul_ecs_version, image_of, is_consul_ecs, names,
    subcommand,
};

pub(super) static CONSUL_ECS_IMAGE: Rule =
    Rule::of_task(page!("consul-ecs-image"), Applies::ConsulAndController, check_ecs_image);

fn check_ecs_image(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul_ecs) = subject.consul_ecs() else { return };
    for container in consul_ecs.containers {
        let Some(image) = image_of(container) else { continue };
        let is_other = match image.software() {
            Some(software) => software != Software::ConsulEcs,
            None => hashicorp_s(container).is_some(),
        };
        if is_other {
            let message = format!("{} has the image {}", container.label(), image.name);
            let help = "use the image consul-ecs, such as public.ecr.aws/hashicorp/consul-ecs";
            findings.add(Draft::new(container.image.span(), message, help).of(container));
        }
    }
}

/// The registries with HashiCorp's own images: ECR Public, and Docker Hub, whose name a reference may leave out. An image of
/// the same name elsewhere may be a user's own.
const REGISTRIES: [&str; 4] = ["", "docker.io/", "index.docker.io/", "public.ecr.aws/"];

/// The name of an image in `HashiCorp`'s own registries, without its tag.
pub(super) fn hashicorp_s(container: &Container) -> Option<&str> {
    let reference = container.image.text()?;
    let in_registry = |registry: &&str| reference.strip_prefix(registry)?.strip_prefix("hashicorp/");
    REGISTRIES.iter().find_map(in_registry)?.split([':', '@']).next()
}

pub(super) static CONSUL_CONTROLLER_COMMAND: Rule =
    Rule::once_per_task(page!("consul-controller-command"), Applies::Controller, check_controller_command);

fn check_controller_command(subject: &Subject<'_>) -> Option<Draft> {
    let controller = subject.controller.as_ref().filter(|controller| controller.kind.is_none())?;
    let container = controller.container;
    // The entry point of another image is not known.
    if !is_consul_ecs(container) {
        return None;
    }
    let message = match subcommand(container) {
        Subcommand::Known(_) => format!("{} runs {}", container.label(), container.command.shown_program()),
        Subcommand::Absent => format!("{} has no command", container.label()),
        Subcommand::Unknown => return None,
    };
    let place = &container.command.place;
    let draft = if container.name.text() == Some(names::ACL_CONTROLLER) {
        Draft::new(place.span, message, "set its command to acl-controller with its flags")
    } else {
        let fix = Fix::set(place, vec![ControllerKind::Controller.command()]);
        Draft::new(place.span, message, "set its command to [\"controller\"]").fix(fix)
    };
    Some(draft.of(container))
}

pub(super) static CONSUL_MIXED_GENERATIONS: Rule =
    Rule::once_per_task(page!("consul-mixed-generations"), Applies::Consul, check_mixed_generations);

fn check_mixed_generations(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref().filter(|consul| consul.is_mixed())?;
    let (old, new) = strangers(consul)?;
    let message = format!("{} belongs to an older generation of Consul on ECS than {}", old.label(), new.label());
    let help = format!("remove {} and all other containers of its generation", old.label());
    Some(Draft::new(old.span(), message, help).of(old).note(new.span(), "the newer container"))
}

/// A container of an older and one of a newer generation.
fn strangers<'d>(consul: &ConsulTask<'d>) -> Option<(&'d Container, &'d Container)> {
    let client = consul.sidecar_proxy.or(consul.client);
    match client {
        Some(client) => Some((client, consul.dataplane.or(consul.control_plane)?)),
        None => Some((consul.control_plane?, consul.mesh_init.or(consul.health_sync)?)),
    }
}

pub(super) static CONSUL_IMAGE_GENERATION: Rule =
    Rule::of_task(page!("consul-image-generation"), Applies::ConsulAndController, check_image_generation);

fn check_image_generation(subject: &Subject<'_>, findings: &mut Findings) {
    if let Some(controller) = &subject.controller {
        findings.extend(of_controller(controller));
    }
    let Some(consul) = subject.consul.as_ref().filter(|consul| !consul.is_mixed()) else { return };
    let mut strangers = consul
        .consul_ecs_containers()
        .filter(|container| consul_ecs_version(container).is_some_and(|version| !consul.generation.fits(version)));
    let Some(container) = strangers.next() else { return };
    let image = container.image.known().map(Text::shown).unwrap_or_default();
    let releases = consul.generation.releases();
    let message = format!("{image} does not fit these containers, which belong to consul-ecs {releases}");
    let fits = |other: &&Container| consul_ecs_version(other).is_some_and(|version| consul.generation.fits(version));
    let help = match consul.consul_ecs_containers().find(fits).map(|other| (other, other.image.known())) {
        Some((other, Some(own))) => format!("use the image of {}: {}", other.label(), own.shown()),
        _ => format!("use an image of consul-ecs {releases}, or the containers of the image's generation"),
    };
    let draft = Draft::new(container.image.span(), message, help).of(container);
    findings.add(strangers.fold(draft, |draft, other| draft.note(other.image.span(), "this image as well")));
}

fn of_controller(controller: &ControllerTask<'_>) -> Option<Draft> {
    let kind = controller.kind?;
    consul_ecs_version(controller.container).filter(|version| !kind.releases().contain(*version))?;
    let image = controller.container.image.known().map(Text::shown).unwrap_or_default();
    let (command, releases) = (kind.command(), kind.releases());
    let message = format!("{image} does not have the command {command}, which consul-ecs {releases} has");
    let help = format!("use an image of consul-ecs {releases}, or the controller of the image's release");
    Some(Draft::new(controller.container.image.span(), message, help).of(controller.container))
}

pub(super) static CONSUL_IMAGE_VERSIONS: Rule =
    Rule::of_task(page!("consul-image-versions"), Applies::Consul, check_image_versions);

fn check_image_versions(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| !consul.is_mixed()) else { return };
    let mut versions =
        consul.consul_ecs_containers().filter_map(|container| Some((container, consul_ecs_version(container)?)));
    let Some((first, wanted)) = versions.next() else { return };
    for (container, version) in versions {
        let fits = [wanted, version].into_iter().all(|version| consul.generation.fits(version));
        if fits && !version.may_be(wanted) {
            let message = format!("{} has version {version}, {} has {wanted}", container.label(), first.label());
            let draft = Draft::new(container.image.span(), message, "use one version of the image for both");
            findings.add(draft.of(container).note(first.image.span(), "the other image"));
        }
    }
}
