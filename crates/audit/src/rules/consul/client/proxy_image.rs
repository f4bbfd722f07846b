use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Software, Subject, image_of},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-sidecar-proxy-image",
    summary: "sidecar-proxy has the image of Envoy",
    severity: Severity::Warning,
    applies: Applies::ConsulClient,
    is_fixable: false,
    effect: "the container finds no program called envoy and fails, so that the app never starts",
    explanation: "\
With a client agent, the proxy is Envoy, in a version that the agent's Consul supports. The images of Consul and \
consul-ecs do not contain it. The image of Consul Dataplane does, but its program needs a configuration that mesh-init \
does not write in this generation. Images with unknown names count as mirrors of Envoy's image.",
    sources: &["https://developer.hashicorp.com/consul/docs/connect/proxies/envoy"],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[sidecar-proxy].image",
        fails: Some(r#""hashicorp/consul:1.11.11""#),
        repaired: Some(r#""registry.example.com/mirror/envoy-with-tools:v1.20.7""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(container) = subject.consul.as_ref().and_then(|consul| consul.sidecar_proxy) else { return };
    let Some(image) = image_of(container) else { return };
    if image.software().is_some_and(|software| software != Software::Envoy) {
        let message = format!("{} has the image {}", container.label(), image.name);
        findings.add(Draft::new(container.image.span(), message, "use an image of Envoy").of(container));
    }
}
