use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Software, Subject, image_of},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-client-image",
    summary: "consul-client has the image of Consul",
    severity: Severity::Warning,
    applies: Applies::ConsulClient,
    is_fixable: false,
    effect: "the container has no program called consul and stops, and mesh-init waits for its agent until the task is stopped",
    explanation: "\
The container's script starts Consul's agent, which is the program `consul`. The images of consul-ecs, of Consul \
Dataplane and of Envoy do not contain it. Images with unknown names count as mirrors of Consul's image.",
    sources: &["https://gallery.ecr.aws/hashicorp/consul"],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-client].image",
        fails: Some(r#""hashicorp/consul-ecs:0.4.3""#),
        repaired: Some(r#""registry.example.com/mirror/hashicorp-consul:1.11.11""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(container) = subject.consul.as_ref().and_then(|consul| consul.client) else { return };
    let Some(image) = image_of(container) else { return };
    if image.software().is_some_and(|software| software != Software::Consul) {
        let message = format!("{} has the image {}", container.label(), image.name);
        findings.add(Draft::new(container.image.span(), message, "use an image of Consul").of(container));
    }
}
