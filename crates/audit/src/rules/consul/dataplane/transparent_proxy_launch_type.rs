use crate::{
    definition::{Field, Maybe, TaskDefinition, Text},
    document::Span,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-transparent-proxy-launch-type",
    summary: "a task with transparent proxy runs on EC2 only",
    severity: Severity::Error,
    applies: Applies::ConsulDataplane,
    is_fixable: false,
    effect: "Fargate refuses the capability that mesh-init needs, or mesh-init fails, and the task never starts",
    explanation: "\
For transparent proxy, mesh-init writes `iptables` rules, which requires the capability `NET_ADMIN`. Fargate does not \
grant it. In consul-ecs from 0.8 on, transparent proxy is on unless the configuration switches it off, also if it has no \
`transparentProxy`. On Fargate, set `\"transparentProxy\": { \"enabled\": false }`.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/tech-specs",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_KernelCapabilities.html",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: GIVEN,
        at: "requiresCompatibilities",
        fails: Some(r#"["FARGATE"]"#),
        repaired: Some(r#"["EC2"]"#),
    }),
    check: Check::Task(check),
};

const GIVEN: &[(&str, &str)] = &[
    ("requiresCompatibilities", r#"["EC2"]"#),
    ("config.transparentProxy", "{}"),
    ("containerDefinitions[consul-ecs-mesh-init].user", r#""0""#),
    ("containerDefinitions[consul-ecs-mesh-init].linuxParameters.capabilities", r#"{ "add": ["NET_ADMIN"] }"#),
];

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.is_transparent() == Some(true)) else { return };
    let Some(span) = outside_of_ec2(subject.definition) else { return };
    let message = "transparent proxy is on, but the task may run outside of EC2";
    let help = "set requiresCompatibilities to [\"EC2\"], or transparentProxy.enabled to false";
    let is_default = matches!(consul.configuration.at("transparentProxy.enabled"), Maybe::Absent);
    let note = if is_default { "on by default" } else { "transparent proxy is on" };
    let place = consul.configuration.place_of("transparentProxy.enabled");
    findings.add(Draft::new(span, message, help).note(place.span, note));
}

/// What says that a task may run outside of EC2.
pub(super) fn outside_of_ec2(definition: &TaskDefinition) -> Option<Span> {
    let other = |item: &&Field<Text>| item.text().is_some_and(|text| text != "EC2");
    match definition.requires_compatibilities.items.iter().find(other) {
        Some(item) => Some(item.span()),
        None => definition.runs_on_fargate().then(|| definition.span()),
    }
}
