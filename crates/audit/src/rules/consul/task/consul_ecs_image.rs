use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Software, Subject, image_of},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-ecs-image",
    summary: "the containers of consul-ecs have its image",
    severity: Severity::Warning,
    applies: Applies::ConsulAndController,
    is_fixable: false,
    effect: "the container fails at once: what waits for it never starts, the service's checks stay critical, or the controller never runs",
    explanation: "\
`mesh-init`, `health-sync`, `control-plane` and `controller` are commands of the program `consul-ecs`, which has its own image. The \
images of Consul, Consul Dataplane and Envoy do not contain it. Images with unknown names count as mirrors of the \
image of consul-ecs.",
    sources: &["https://gallery.ecr.aws/hashicorp/consul-ecs"],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-ecs-mesh-init].image",
        fails: Some(r#""public.ecr.aws/hashicorp/consul:latest""#),
        repaired: Some(r#""registry.example.com/mirror/consul-ecs:0.4.3""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
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
