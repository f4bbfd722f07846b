use crate::{
    definition::{Container, Field},
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{EntryPoint, Subject},
};

/// The default of `stopTimeout` on Fargate, in seconds.
const DEFAULT: u64 = 30;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-app-shutdown-delay",
    summary: "an app with a shutdown delay has time to stop",
    severity: Severity::Warning,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "ECS kills the app before it gets TERM: its open requests are lost whenever a task stops",
    explanation: "\
With `app-entrypoint -shutdown-delay`, the app keeps running for a while after ECS has asked the task to stop, until \
other services have noticed that it is stopping. Only then does the app get TERM. ECS counts the container's \
`stopTimeout` (30 seconds on Fargate by default) from the beginning of that delay, so that it has to be longer than \
the delay plus the time that the app needs to finish.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/architecture",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: DELAYED,
        at: "containerDefinitions[web].stopTimeout",
        fails: None,
        repaired: Some("90"),
    }),
    check: Check::Task(check),
};

const DELAYED: &[(&str, &str)] = &[
    ("containerDefinitions[web].mountPoints", r#"[{ "sourceVolume": "consul_data", "containerPath": "/consul" }]"#),
    ("containerDefinitions[web].entryPoint", r#"["/consul/consul-ecs", "app-entrypoint", "-shutdown-delay", "60s"]"#),
    ("containerDefinitions[web].command", r#"["serve"]"#),
    ("containerDefinitions[consul-dataplane].stopTimeout", "120"),
];

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    // By default, the agent of the EC2 instance determines the time.
    let on_fargate = subject.definition.runs_on_fargate();
    let seconds = |field: &Field<u64>| if on_fargate { field.or(DEFAULT) } else { field.known().copied() };
    for app in &consul.apps {
        let delay = EntryPoint::of(app).and_then(|entry_point| entry_point.shutdown_delay());
        let (Some(delay), Some(limit)) = (delay, seconds(&app.stop_timeout)) else { continue };
        if delay >= limit {
            findings.add(late(app, delay, limit));
        }
    }
}

fn late(app: &Container, delay: u64, limit: u64) -> Draft {
    let label = app.label();
    let message = format!("{label} gets TERM after {delay} seconds, but is killed after {limit}");
    let help = format!(
        "set the stopTimeout of {label} to more than {delay}, with time for the app to finish, or reduce the delay"
    );
    let draft = Draft::new(app.stop_timeout.span(), message, help).of(app);
    draft.note(app.entry_point.place.span, "delays TERM")
}
