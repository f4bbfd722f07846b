use crate::{
    definition::Container,
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{Generation, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-dataplane-users",
    summary: "with transparent proxy, consul-dataplane runs as user 5995, and health-sync as user 5996",
    severity: Severity::Warning,
    applies: Applies::ConsulDataplane,
    is_fixable: true,
    effect: "the proxy's own traffic is redirected to the proxy, in a loop",
    explanation: "\
For transparent proxy, mesh-init writes rules that redirect all traffic of the task to the proxy, except for that of \
two users: 5995, which is the proxy, and 5996, which is health-sync. Both IDs are fixed in consul-ecs from 0.8 on. \
Without transparent proxy, another user is harmless and not reported.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/tech-specs",
        "https://github.com/hashicorp/terraform-aws-consul-ecs/blob/main/CHANGELOG.md",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: TRANSPARENT,
        at: "containerDefinitions[consul-dataplane].user",
        fails: None,
        repaired: Some(r#""5995""#),
    }),
    check: Check::Task(check),
};

const TRANSPARENT: &[(&str, &str)] = &[
    ("requiresCompatibilities", r#"["EC2"]"#),
    ("config.transparentProxy.enabled", "true"),
    ("containerDefinitions[consul-ecs-mesh-init].linuxParameters.capabilities", r#"{ "add": ["NET_ADMIN"] }"#),
    ("containerDefinitions[consul-ecs-mesh-init].user", r#""0""#),
];

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.generation == Generation::Dataplane) else {
        return;
    };
    if consul.is_transparent() != Some(true) {
        return;
    }
    let wanted = [(consul.dataplane, "5995"), (consul.health_sync, "5996")];
    for (container, user) in wanted {
        if let Some(container) = container {
            runs_as(container, user, findings);
        }
    }
}

fn runs_as(container: &Container, wanted: &str, findings: &mut Findings) {
    let user = &container.user;
    let message = match (user.text(), user.is_absent()) {
        // A group may follow.
        (Some(found), _) if found.split(':').next() == Some(wanted) => return,
        (Some(found), _) => format!("{} runs as user {found}", container.label()),
        (None, true) => format!("{} runs as the user of its image", container.label()),
        (None, false) => return,
    };
    let help = format!("set its user to \"{wanted}\"");
    findings.add(Draft::new(user.span(), message, help).of(container).fix(Fix::set(&user.place, wanted)));
}
