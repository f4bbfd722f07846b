use crate::{
    definition::Text,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Controller, Subject, consul_ecs_version},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-image-generation",
    summary: "the version of consul-ecs belongs to the containers of the task",
    severity: Severity::Error,
    applies: Applies::ConsulAndController,
    is_fixable: false,
    effect: "consul-ecs does not know its command or connects to a Consul agent that does not exist, and the task never joins the mesh, or never runs the controller",
    explanation: "\
consul-ecs up to 0.6 registers the service with the Consul client agent of the task and writes a configuration for \
Envoy. 0.7 does both with the Consul servers and for Consul Dataplane, in one container with the command \
`control-plane`, and has no `mesh-init` and no `health-sync`. From 0.8 on, these two are back and `control-plane` is \
gone. The controller's command is `acl-controller` up to 0.6, and `controller` from 0.7 on. An image of another \
generation than the containers usually results from an upgrade of the images alone.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/upgrade-to-dataplanes",
        "https://github.com/hashicorp/consul-ecs/blob/main/CHANGELOG.md",
    ],
    example: Some(image(
        Base::Client,
        "consul-ecs-mesh-init",
        r#""public.ecr.aws/hashicorp/consul-ecs:0.10.1""#,
        CLIENT_IMAGE,
    )),
    check: Check::Task(check),
};

const CLIENT_IMAGE: &str = r#""public.ecr.aws/hashicorp/consul-ecs:0.4.3""#;
const fn image(base: Base, container: &'static str, fails: &'static str, repaired: &'static str) -> Example {
    let at = match container.as_bytes() {
        b"consul-ecs-mesh-init" => "containerDefinitions[consul-ecs-mesh-init].image",
        b"consul-ecs-controller" => "containerDefinitions[consul-ecs-controller].image",
        b"consul-ecs-health-sync" => "containerDefinitions[consul-ecs-health-sync].image",
        _ => "containerDefinitions[consul-ecs-control-plane].image",
    };
    Example { base, given: &[], at, fails: Some(fails), repaired: Some(repaired) }
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if let Some(controller) = &subject.controller {
        findings.extend(of_controller(controller));
    }
    let Some(consul) = subject.consul.as_ref().filter(|consul| !consul.is_mixed()) else { return };
    let mut strangers = consul
        .consul_ecs_containers()
        .filter(|container| consul_ecs_version(container).is_some_and(|version| !consul.generation.fits(&version)));
    let Some(container) = strangers.next() else { return };
    let image = container.image.known().map(Text::shown).unwrap_or_default();
    let releases = consul.generation.releases();
    let message = format!("{image} does not fit these containers, which are those of consul-ecs {releases}");
    let help = format!("use an image of consul-ecs {releases}, or the containers of the image's generation");
    let draft = Draft::new(container.image.span(), message, help).of(container);
    findings.add(strangers.fold(draft, |draft, other| draft.note(other.image.span(), "this image as well")));
}

fn of_controller(controller: &Controller<'_>) -> Option<Draft> {
    let kind = controller.kind?;
    consul_ecs_version(controller.container).filter(|version| !kind.fits(version))?;
    let image = controller.container.image.known().map(Text::shown).unwrap_or_default();
    let (command, releases) = (kind.command(), kind.releases());
    let message = format!("{image} does not have the command {command}, which consul-ecs {releases} has");
    let help = format!("use an image of consul-ecs {releases}, or the controller of the image's release");
    Some(Draft::new(controller.container.image.span(), message, help).of(controller.container))
}
