use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Subject, consul_ecs_version},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-image-versions",
    summary: "all containers of consul-ecs have the same version",
    severity: Severity::Warning,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "mesh-init and health-sync may use different names of checks and tokens, so that health is not synced",
    explanation: "\
mesh-init registers the service and its checks, and health-sync updates these checks by their IDs and deletes the \
token at the end. They are parts of one program; different releases of it are not documented to be compatible.",
    sources: &["https://developer.hashicorp.com/consul/docs/ecs/architecture"],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "containerDefinitions[consul-ecs-health-sync].image",
        fails: Some(r#""public.ecr.aws/hashicorp/consul-ecs:0.10.0""#),
        repaired: Some(r#""public.ecr.aws/hashicorp/consul-ecs:0.10.1""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| !consul.is_mixed()) else { return };
    let mut versions =
        consul.consul_ecs_containers().filter_map(|container| Some((container, consul_ecs_version(container)?)));
    let Some((first, wanted)) = versions.next() else { return };
    for (container, version) in versions {
        let fits = [&wanted, &version].iter().all(|version| consul.generation.fits(version));
        if fits && version != wanted {
            let message = format!("{} has version {version}, {} has {wanted}", container.label(), first.label());
            let draft = Draft::new(container.image.span(), message, "use one version of the image for both");
            findings.add(draft.of(container).note(first.image.span(), "the other image"));
        }
    }
}
