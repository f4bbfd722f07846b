use crate::{
    definition::{Container, Maybe},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-dataplane-entry-point",
    summary: "consul-dataplane is started by consul-ecs's envoy-entrypoint",
    severity: Severity::Error,
    applies: Applies::ConsulDataplane,
    is_fixable: true,
    effect: "the proxy does not start, or it stops at the first TERM while the app is still handling requests",
    explanation: "\
ECS stops containers in the reverse order of their dependencies: an app that did not wait for the proxy gets TERM \
together with it. `/consul/consul-ecs envoy-entrypoint` starts the proxy and withholds the signal until the app's \
containers have exited, so that they can complete their requests through the mesh. mesh-init copies the program to the \
shared volume: to `bootstrapDir` of the configuration, `/consul` if absent. The image's own entry point is the proxy \
itself: with the usual command as arguments, it gets its own name as an argument and fails.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/architecture",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "containerDefinitions[consul-dataplane].entryPoint",
        fails: None,
        repaired: Some(r#"["/consul/consul-ecs", "envoy-entrypoint"]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(dataplane) = consul.dataplane else { return };
    let Some(words) = dataplane.entry_point.texts() else { return };
    let directory = consul.shared_directory();
    let is_elsewhere = is_elsewhere(dataplane, &words, directory);
    // A user's own start script may call it too.
    let is_own_script = words.iter().any(|word| word.contains("envoy-entrypoint"));
    if is_own_script && !is_elsewhere {
        return;
    }
    let label = dataplane.label();
    let message = match (words.is_empty(), directory) {
        (true, _) => format!("{label} has no entry point"),
        (false, Some(directory)) if is_elsewhere => {
            format!("the entry point of {label} is in {USUAL}, but mesh-init puts consul-ecs into {directory}")
        }
        (false, _) => format!("the entry point of {label} is {}", dataplane.entry_point.shown_program()),
    };
    let place = &dataplane.entry_point.place;
    let program = directory.map(|directory| format!("{directory}/consul-ecs"));
    let fix = program.as_deref().and_then(|program| Fix::set(place, vec![program, "envoy-entrypoint"]));
    let shown = program.as_deref().unwrap_or("consul-ecs in the bootstrap directory");
    let help = format!("set its entryPoint to [\"{shown}\", \"envoy-entrypoint\"]");
    findings.add(Draft::new(place.span, message, help).of(dataplane).fix(fix));
}

/// The default bootstrap directory.
const USUAL: &str = "/consul";

/// Whether the program is certainly not at the path in the entry point. An image may contain one at another path.
fn is_elsewhere(dataplane: &Container, words: &[&str], directory: Option<&str>) -> bool {
    words.first() == Some(&"/consul/consul-ecs")
        && directory.is_some_and(|directory| directory != USUAL)
        && matches!(dataplane.mount_at(USUAL), Maybe::Absent)
}
