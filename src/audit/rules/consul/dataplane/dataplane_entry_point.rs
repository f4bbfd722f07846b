use crate::audit::{
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::audit::rules) static RULE: Rule = Rule {
    id: "consul-dataplane-entry-point",
    summary: "consul-dataplane is started by consul-ecs's envoy-entrypoint",
    severity: Severity::Error,
    applies: Applies::ConsulDataplane,
    effect: "the proxy does not start, or it stops with the first TERM while the app still has requests to finish",
    explanation: "\
When ECS stops a task it sends TERM to all containers at once. `/consul/consul-ecs envoy-entrypoint`, which mesh-init copied to the \
shared volume, starts the proxy and holds the signal back until the app's containers have exited, so that they can finish what they \
are doing through the mesh. The image's own entry point is the program itself: with the usual command behind it, it gets its own \
name as an argument and fails.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/architecture",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
    ],
    examples: &[
        Example {
            base: Base::Dataplane,
            given: &[],
            at: "containerDefinitions[consul-dataplane].entryPoint",
            fails: None,
            repaired: Some(r#"["/consul/consul-ecs", "envoy-entrypoint"]"#),
        },
        Example {
            base: Base::ControlPlane,
            given: &[],
            at: "containerDefinitions[consul-dataplane].entryPoint",
            fails: Some(r#"["/consul/consul-ecs", "app-entrypoint"]"#),
            repaired: Some(r#"["/consul/consul-ecs", "envoy-entrypoint"]"#),
        },
    ],
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let Some(dataplane) = subject.consul.as_ref().and_then(|consul| consul.dataplane) else { return };
    let Some(words) = dataplane.entry_point.texts() else { return };
    // Somebody's own start script may call it as well.
    let is_own_script = words.iter().any(|word| word.contains("envoy-entrypoint"));
    if is_own_script {
        return;
    }
    let message = if words.is_empty() {
        format!("{} has no entry point of its own", dataplane.label())
    } else {
        format!("the entry point of {} is {}", dataplane.label(), dataplane.entry_point.shown_program())
    };
    let place = &dataplane.entry_point.place;
    let fix = Fix::set(place, vec!["/consul/consul-ecs", "envoy-entrypoint"]);
    let help = "set its entryPoint to [\"/consul/consul-ecs\", \"envoy-entrypoint\"]";
    findings.add(Draft::new(place.span, message, help).of(dataplane).fix(fix));
}
