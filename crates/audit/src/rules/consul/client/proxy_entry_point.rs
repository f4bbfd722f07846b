use semver::Version;

use crate::{
    definition::Container,
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Subject},
};

/// The first version of consul-ecs whose official definitions use `envoy-entrypoint`; the program is one release older.
const SINCE: Version = Version::new(0, 3, 0);

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-sidecar-proxy-entry-point",
    summary: "consul-ecs envoy-entrypoint starts the sidecar proxy",
    severity: Severity::Warning,
    applies: Applies::ConsulClient,
    is_fixable: true,
    effect: "Envoy stops as soon as the task stops, and the last requests of the app fail",
    explanation: "\
When a task stops, ECS sends TERM to its containers, and Envoy stops when it gets one. An app that did not wait for \
the proxy is still running then, and loses its upstreams. `envoy-entrypoint` of `consul-ecs`, which mesh-init copies \
to the shared volume, starts Envoy, ignores TERM, and stops Envoy after the app's containers have stopped. A shell \
script as entry point may do the same and is not reported, nor are gateways, which have no app, and consul-ecs before \
0.3, whose official definitions had no such entry point.",
    sources: &["https://developer.hashicorp.com/consul/docs/v1.13.x/ecs/architecture"],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[sidecar-proxy].entryPoint",
        fails: None,
        repaired: Some(r#"["/consul/consul-ecs", "envoy-entrypoint"]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let (Some(proxy), Some(directory)) = (consul.sidecar_proxy, consul.shared_directory()) else { return };
    let Some(words) = proxy.entry_point.texts() else { return };
    if !consul.is_service() || is_older(consul) || is_fine(&words) {
        return;
    }
    let message = if words.is_empty() {
        format!("{} has no entry point", proxy.label())
    } else {
        format!("{} has the entry point {}", proxy.label(), proxy.entry_point.shown_program())
    };
    let wanted = format!("{directory}/consul-ecs");
    let help = format!("set the entry point to [\"{wanted}\", \"envoy-entrypoint\"]");
    let place = &proxy.entry_point.place;
    let fix = Fix::set(place, vec![wanted.as_str(), "envoy-entrypoint"]).filter(|_| starts_envoy(proxy));
    findings.add(Draft::new(place.span, message, help).of(proxy).fix(fix));
}

fn is_fine(words: &[&str]) -> bool {
    let is_shell = words.first().is_some_and(|word| word.ends_with("sh"));
    is_shell || words.contains(&"envoy-entrypoint")
}

fn is_older(consul: &ConsulTask<'_>) -> bool {
    consul.version().is_some_and(|version| version < SINCE)
}

/// Whether its command begins with the program, as `envoy-entrypoint` expects.
fn starts_envoy(proxy: &Container) -> bool {
    proxy.command.texts().is_some_and(|words| words.first() == Some(&"envoy"))
}
