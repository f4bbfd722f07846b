use crate::audit::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Software, Subject, image_of},
};

pub(in crate::audit::rules) static RULE: Rule = Rule {
    id: "consul-mesh-init-image",
    summary: "consul-ecs-mesh-init has the image of consul-ecs",
    severity: Severity::Warning,
    applies: Applies::Consul,
    effect: "the container fails at once, and everything that waits for it never starts",
    explanation: "\
`mesh-init` is a command of the program `consul-ecs`, which comes in an image of its own. Consul's image, Consul Dataplane's \
and Envoy's do not hold it. Names that are not known to be another program's are taken for mirrors of the right image.",
    sources: &["https://gallery.ecr.aws/hashicorp/consul-ecs"],
    examples: &[
        Example {
            base: Base::Client,
            given: &[],
            at: "containerDefinitions[consul-ecs-mesh-init].image",
            fails: Some(r#""public.ecr.aws/hashicorp/consul:latest""#),
            repaired: Some(r#""registry.example.com/mirror/consul-ecs:0.4.2""#),
        },
        Example {
            base: Base::Dataplane,
            given: &[],
            at: "containerDefinitions[consul-ecs-mesh-init].image",
            fails: Some(r#""hashicorp/consul-dataplane:latest""#),
            repaired: Some(r#""public.ecr.aws/hashicorp/consul-ecs:0.9.3""#),
        },
    ],
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let Some(mesh_init) = subject.consul.as_ref().and_then(|consul| consul.mesh_init) else { return };
    let Some(image) = image_of(mesh_init) else { return };
    if image.software().is_some_and(|software| software != Software::ConsulEcs) {
        let message = format!("{} has the image {}", mesh_init.label(), image.name);
        let help = "use the image consul-ecs, such as public.ecr.aws/hashicorp/consul-ecs";
        findings.add(Draft::new(mesh_init.image.span(), message, help).of(mesh_init));
    }
}
