use crate::audit::{
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{Image, Software, Subject, image_of},
};

pub(in crate::audit::rules) static RULE: Rule = Rule {
    id: "consul-health-sync-image",
    summary: "health-sync has the same image as mesh-init",
    severity: Severity::Warning,
    applies: Applies::Consul,
    effect: "two versions of consul-ecs share one configuration and one set of checks, and may disagree about both",
    explanation: "\
mesh-init names the checks, writes the token's file and reads the configuration that health-sync reads as well. Between versions \
of consul-ecs all of that changed: names of checks, files, fields of the configuration. Only with the same image do the two \
certainly agree.",
    sources: &["https://developer.hashicorp.com/consul/docs/ecs/upgrade-to-dataplanes"],
    examples: &[
        Example {
            base: Base::Dataplane,
            given: &[],
            at: "containerDefinitions[consul-ecs-health-sync].image",
            fails: Some(r#""hashicorp/consul-dataplane""#),
            repaired: Some(r#""registry.example.com/mirror/consul-ecs:0.9.3""#),
        },
        Example {
            base: Base::Client,
            given: &[],
            at: "containerDefinitions[consul-ecs-health-sync].image",
            fails: Some(r#""public.ecr.aws/hashicorp/consul-ecs:0.4.1""#),
            repaired: Some(r#""public.ecr.aws/hashicorp/consul-ecs:0.4.2""#),
        },
    ],
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let Some(consul) = &subject.consul else { return };
    let (Some(health_sync), Some(mesh_init)) = (consul.health_sync, consul.mesh_init) else { return };
    let (Some(own), Some(other)) = (image_of(health_sync), image_of(mesh_init)) else { return };
    let is_other = |image: &Image| image.software().is_some_and(|software| software != Software::ConsulEcs);
    // Another rule reports a wrong image of mesh-init, which is nothing to copy.
    if is_other(&other) || !(is_other(&own) || have_other_tags(&own, &other)) {
        return;
    }
    let (Some(found), Some(wanted)) = (health_sync.image.known(), mesh_init.image.known()) else { return };
    let (found, shown) = (found.shown(), wanted.shown());
    let place = &health_sync.image.place;
    let message = format!("{} has the image {found}, and {} {shown}", health_sync.label(), mesh_init.label());
    let fix = wanted.whole().and_then(|wanted| Fix::set(place, wanted));
    let draft = Draft::new(place.span, message, format!("set its image to {shown}"));
    findings.add(draft.of(health_sync).note(mesh_init.image.span(), "mesh-init's image").fix(fix));
}

/// The same tag in another registry is a mirror's copy.
fn have_other_tags(own: &Image, other: &Image) -> bool {
    matches!((&own.tag, &other.tag), (Some(own), Some(other)) if own != other)
}
