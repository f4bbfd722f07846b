use crate::audit::{
    definition::{Container, Field},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

/// Seconds between TERM and KILL where nothing else is said: on Fargate always, on EC2 unless the agent says otherwise.
const DEFAULT: u64 = 30;

/// The longest time that Fargate gives.
const LONGEST: u64 = 120;

pub(in crate::audit::rules) static RULE: Rule = Rule {
    id: "consul-proxy-stop-timeout",
    summary: "the proxy's stop timeout is not shorter than that of any app container",
    severity: Severity::Warning,
    applies: Applies::Consul,
    effect: "the proxy is killed while the app still finishes its work, whose requests to other services then fail",
    explanation: "\
When a task stops, its containers get TERM, and KILL once their `stopTimeout` (30 seconds, if nothing else is said) is over. The \
entry point of the proxy's container ignores TERM until the app containers have ended, so that the app can answer what it has \
taken on and call others meanwhile. That works only for as long as the proxy is allowed to live: with an app of 90 seconds and a \
proxy of 30, the app has no mesh for its last minute.",
    sources: &[
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
        "https://developer.hashicorp.com/consul/docs/ecs/architecture",
    ],
    examples: &[
        Example {
            base: Base::Dataplane,
            given: &[],
            at: "containerDefinitions[web].stopTimeout",
            fails: Some("90"),
            repaired: Some("30"),
        },
        Example {
            base: Base::Client,
            given: &[("containerDefinitions[web].stopTimeout", "90")],
            at: "containerDefinitions[sidecar-proxy].stopTimeout",
            fails: Some("60"),
            repaired: Some("90"),
        },
    ],
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let Some(consul) = subject.consul.as_ref() else { return };
    let on_fargate = subject.definition.runs_on_fargate();
    // Without a value, an agent on EC2 decides.
    // More than Fargate allows is another rule's business.
    let seconds = |field: &Field<u64>| {
        if on_fargate { field.or(DEFAULT).map(|seconds| seconds.min(LONGEST)) } else { field.known().copied() }
    };
    let Some((proxy, limit)) = consul.proxy().and_then(|proxy| Some((proxy, seconds(&proxy.stop_timeout)?))) else {
        return;
    };
    let apps = consul.apps.iter().filter_map(|app| Some((*app, seconds(&app.stop_timeout)?)));
    if let Some((app, needed)) = apps.max_by_key(|(_, seconds)| *seconds).filter(|(_, seconds)| *seconds > limit) {
        report(proxy, limit, app, needed, findings);
    }
}

fn report(proxy: &Container, limit: u64, app: &Container, needed: u64, findings: &mut Findings<'_>) {
    let (label, app_label) = (proxy.label(), app.label());
    let message = format!("{app_label} has {needed} seconds to stop, but {label} is killed after {limit}");
    let help = format!("set the stopTimeout of {label} to {needed} or more");
    let draft = Draft::new(proxy.stop_timeout.span(), message, help).of(proxy);
    let draft = draft.note(app.stop_timeout.span(), format!("{app_label} has {needed} seconds"));
    findings.add(draft.fix(Fix::set(&proxy.stop_timeout.place, needed)));
}
