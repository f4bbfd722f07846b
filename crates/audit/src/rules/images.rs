//! The images of consul-ecs, and the generations that they belong to.

use super::prelude::*;
use crate::subject::{
    ControllerKind, ControllerTask, Software, Subcommand, consul_ecs_version, image_of, is_consul_ecs, names,
    subcommand,
};

pub(super) static CONSUL_ECS_IMAGE: Rule = Rule {
    id: "consul-ecs-image",
    summary: "the containers of consul-ecs have its image",
    severity: Severity::Warning,
    effect: "the container fails at once: the app never starts, the service's checks stay critical, or the controller never runs",
    explanation: "\
`mesh-init`, `health-sync`, `control-plane` and `controller` are commands of the program `consul-ecs`, which has its own image. The \
images of Consul, Consul Dataplane and Envoy do not contain it. Images with unknown names count as mirrors of the \
image of consul-ecs.",
    sources: &["https://gallery.ecr.aws/hashicorp/consul-ecs"],
    example: Some(
        Base::Client
            .wrong("containerDefinitions[consul-ecs-mesh-init].image", r#""public.ecr.aws/hashicorp/consul:latest""#),
    ),
    ..Rule::of_task(Applies::ConsulAndController, check_ecs_image)
};

fn check_ecs_image(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul_ecs) = subject.consul_ecs() else { return };
    for container in consul_ecs.containers {
        let Some(image) = image_of(container) else { continue };
        if image.software().is_some_and(|software| software != Software::ConsulEcs) {
            let message = format!("{} has the image {}", container.label(), image.name);
            let help = "use the image consul-ecs, such as public.ecr.aws/hashicorp/consul-ecs";
            findings.add(Draft::new(container.image.span(), message, help).of(container));
        }
    }
}

pub(super) static CONSUL_CONTROLLER_COMMAND: Rule = Rule {
    id: "consul-controller-command",
    summary: "consul-ecs-controller runs controller",
    is_fixable: true,
    effect: "the container ends, so no controller prepares Consul for the logins of tasks or deletes the tokens of stopped ones",
    explanation: "\
The controller of consul-ecs is its subcommand `controller`, up to 0.6 `acl-controller` with flags. The rule looks at \
containers named `consul-ecs-controller` or `consul-acl-controller`, as HashiCorp's Terraform modules name them, and at those \
with a section `controller` in their configuration, if they have the image of consul-ecs.",
    sources: &[
        "https://github.com/hashicorp/terraform-aws-consul-ecs/blob/main/modules/controller/main.tf",
        pages::CONSUL_UPGRADE_TO_DATAPLANE,
    ],
    example: Some(Base::Controller.wrong("containerDefinitions[consul-ecs-controller].command", r#"["mesh-init"]"#)),
    ..Rule::once_per_task(Applies::Controller, check_controller_command)
};

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

pub(super) static CONSUL_MIXED_GENERATIONS: Rule = Rule {
    id: "consul-mixed-generations",
    summary: "all of Consul's containers are of one generation",
    effect: "two proxies need the same ports, or two containers register the same service and overwrite each other's registration",
    explanation: "\
A task has one of three sets of containers. Up to consul-ecs 0.6: `consul-client`, `consul-ecs-mesh-init` and \
`sidecar-proxy`. With 0.7: `consul-ecs-control-plane` and `consul-dataplane`. From 0.8 on: `consul-ecs-mesh-init`, \
`consul-dataplane` and `consul-ecs-health-sync`. Containers of two sets result from an incomplete upgrade. Migrate a \
service with a new revision that has only the new set; both revisions run at the same time while ECS replaces the \
tasks.",
    sources: &[pages::CONSUL_UPGRADE_TO_DATAPLANE, pages::CONSUL_ARCHITECTURE],
    example: Some(Base::Dataplane.wrong(
        "containerDefinitions[sidecar-proxy]",
        r#"{ "name": "sidecar-proxy", "image": "envoyproxy/envoy-alpine:v1.23.10", "essential": false }"#,
    )),
    ..Rule::once_per_task(Applies::Consul, check_mixed_generations)
};

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

pub(super) static CONSUL_IMAGE_GENERATION: Rule = Rule {
    id: "consul-image-generation",
    summary: "the version of consul-ecs belongs to the containers of the task",
    effect: "consul-ecs does not know its command or connects to an agent that does not exist, and the task never joins the mesh, or the controller never runs",
    explanation: "\
Up to 0.6, consul-ecs registers the service with the Consul client agent of the task and writes a configuration for \
Envoy. 0.7 registers it with the Consul servers and writes a configuration for Consul Dataplane, in one container \
with the command `control-plane`; it has no `mesh-init` and no `health-sync`. From 0.8 on, these two are back and \
`control-plane` is gone. The controller's command is `acl-controller` up to 0.6, and `controller` from 0.7 on. An \
image of another generation usually results from an upgrade of the images alone.",
    sources: &[pages::CONSUL_UPGRADE_TO_DATAPLANE, pages::CONSUL_ECS_CHANGELOG],
    example: Some(
        Base::Client.wrong(
            "containerDefinitions[consul-ecs-mesh-init].image",
            r#""public.ecr.aws/hashicorp/consul-ecs:0.10.1""#,
        ),
    ),
    ..Rule::of_task(Applies::ConsulAndController, check_image_generation)
};

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
    let help = format!("use an image of consul-ecs {releases}, or the containers of the image's generation");
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

pub(super) static CONSUL_IMAGE_VERSIONS: Rule = Rule {
    id: "consul-image-versions",
    summary: "all containers of consul-ecs have the same version",
    severity: Severity::Warning,
    effect: "mesh-init and health-sync may use different names of checks and tokens, and health is not synced",
    explanation: "\
mesh-init registers the service and its checks. health-sync updates these checks by their IDs, and deletes the token \
at the end. They are parts of one program, and no documentation says that different releases of it are compatible.",
    sources: &[pages::CONSUL_ARCHITECTURE],
    example: Some(Base::Dataplane.wrong(
        "containerDefinitions[consul-ecs-health-sync].image",
        r#""public.ecr.aws/hashicorp/consul-ecs:0.10.0""#,
    )),
    ..Rule::of_task(Applies::Consul, check_image_versions)
};

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
