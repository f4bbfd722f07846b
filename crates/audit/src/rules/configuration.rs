//! The configuration of consul-ecs, compared with the fields of its releases.

use std::collections::HashMap;

use super::prelude::*;
use crate::{
    spelling::nearest,
    subject::{ConfigValue, ConsulEcs, Feature, PlacedConfiguration, consul_ecs_version},
};
use document::{HOLE, Node, PathStep, Span, Value};
use mesh::consul_ecs::{CONFIG_VARIABLE, ConfigCheck, ConfigFault, ConfigProblem, ROOT, Releases};

pub(super) static CONSUL_CONFIG_MISSING: Rule =
    Rule::of_task(page!("consul-config-missing"), Applies::ConsulAndController, check_config_missing);

fn check_config_missing(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul_ecs) = subject.consul_ecs().filter(|program| program.configuration.is_some()) else { return };
    for container in consul_ecs.containers.into_iter().filter(|container| reads_a_configuration(container)) {
        let is_absent = matches!(container.variable(CONFIG_VARIABLE), Maybe::Absent)
            && matches!(container.secret(CONFIG_VARIABLE), Maybe::Absent);
        if is_absent {
            let message = format!("{} has no environment variable {CONFIG_VARIABLE}", container.label());
            let help = format!("add {CONFIG_VARIABLE} with the same JSON in every container of consul-ecs");
            findings.add(Draft::new(container.environment.place.span, message, help).of(container));
        }
    }
}

/// Whether its release has a configuration, if that is known.
fn reads_a_configuration(container: &Container) -> bool {
    let has_flags =
        container.command.items.iter().any(|word| word.known().is_some_and(|word| word.head().starts_with('-')));
    let is_older = consul_ecs_version(container).is_some_and(|version| !Feature::Configuration.is_in(version));
    !has_flags && !is_older
}

pub(super) static CONSUL_CONFIG_JSON: Rule =
    Rule::of_task(page!("consul-config-json"), Applies::ConsulAndController, check_config_json);

fn check_config_json(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul_ecs) = subject.consul_ecs().filter(|program| program.configuration.is_some()) else { return };
    for container in consul_ecs.containers {
        let configuration = PlacedConfiguration::of(subject.definition, container);
        let Maybe::Known(Err(error)) = configuration.content else { continue };
        let message = format!("the configuration of {} cannot be read: {}", container.label(), error.reason);
        // At the end of the text, there is no byte to point at.
        let span = if error.span.start < error.span.end { error.span } else { configuration.place.span };
        findings.add(Draft::new(span, message, "fix the JSON, or generate it with a tool").of(container));
    }
}

type Problem<'c> = ConfigProblem<'c, ConfigValue<'c>>;

/// The defects of a configuration, in the order of the file.
pub(super) fn problems<'c>(consul_ecs: &ConsulEcs<'_, '_>, json: &'c Node) -> Vec<Problem<'c>> {
    // A tag such as 0.9 moves to the newest release of its line.
    let image = consul_ecs.version.filter(|_| consul_ecs.fits);
    let image = image.map(|version| consul_ecs.release.unwrap_or(version.in_line()));
    ConfigCheck::run(ConfigValue(json), &ROOT, image.map(Releases::only), image.unwrap_or(consul_ecs.presumed))
}

/// Adds a draft for each defect about which `judge` has one. A defect in several containers' copies is one finding.
fn report<'s>(
    subject: &Subject<'s>,
    findings: &mut Findings,
    judge: impl Fn(&Problem<'s>, &[Problem<'s>]) -> Option<Draft>,
) {
    let Some(consul_ecs) = subject.consul_ecs() else { return };
    let Some(configuration) = consul_ecs.configuration else { return };
    let drafts_of = |json| {
        let problems = problems(&consul_ecs, json);
        problems.iter().filter_map(|problem| judge(problem, &problems)).collect::<Vec<Draft>>()
    };
    let first = configuration.json().map(drafts_of).unwrap_or_default();
    let mut drafts: Vec<Draft> = first.into_iter().map(|draft| of_holder(&consul_ecs, draft)).collect();
    let mut by_message: HashMap<String, usize> =
        drafts.iter().enumerate().rev().map(|(number, draft)| (draft.message.clone(), number)).collect();
    let holds = |container: &&Container| consul_ecs.holder.is_some_and(|holder| std::ptr::eq(*container, holder));
    let others = consul_ecs.containers.iter().copied().filter(|container| !holds(container));
    for container in others.filter(|container| reads_a_configuration(container)) {
        let copy = PlacedConfiguration::of(subject.definition, container).json();
        for draft in copy.map(drafts_of).unwrap_or_default() {
            if let Some(known) = by_message.get(&draft.message).and_then(|number| drafts.get_mut(*number)) {
                known.absorb(draft, &format!("the same in {}", container.label()));
            } else {
                by_message.insert(draft.message.clone(), drafts.len());
                drafts.push(draft.of(container));
            }
        }
    }
    findings.extend(drafts);
}

/// A finding in the configuration is one of the container that has it.
pub(super) fn of_holder(consul_ecs: &ConsulEcs<'_, '_>, draft: Draft) -> Draft {
    match consul_ecs.holder {
        Some(holder) => draft.of(holder),
        None => draft,
    }
}

/// The bytes of a defect: the key, if the key is wrong.
fn span_of(problem: &Problem<'_>) -> Span {
    let entry = problem.key.and_then(|key| problem.value.0.entries().iter().find(|entry| entry.key == key));
    entry.map_or(problem.value.0.place.span, |entry| entry.key_span)
}

pub(super) static CONSUL_CONFIG_SCHEMA: Rule =
    Rule::of_task(page!("consul-config-schema"), Applies::ConsulAndController, check_config_schema);

/// The fields of Consul's multi-port services (2.0 and newer) that consul-ecs has not, and what to do without them. Source:
/// <https://github.com/hashicorp/web-unified-docs/pull/2705>
const OF_CONSUL: [(&str, &str); 2] = [
    ("service.ports", "register one port in service.port, and a second service for another one"),
    ("destinationPort", "name a service with one port in destinationName, without a port"),
];

fn of_consul(path: &str) -> Option<&'static str> {
    let is_it = |field: &str| path == field || path.rsplit('.').next() == Some(field);
    OF_CONSUL.iter().find(|(field, _)| is_it(field)).map(|(_, help)| *help)
}

/// What to do about an unknown field.
pub(super) fn instead(problem: &Problem<'_>, known: &[&str]) -> String {
    let meant = problem.key.and_then(|key| nearest(key, known.iter().copied()));
    meant.map_or_else(|| "remove it".to_owned(), |meant| format!("did you mean {meant}?"))
}

fn check_config_schema(subject: &Subject<'_>, findings: &mut Findings) {
    report(subject, findings, |problem, problems| {
        let path = &problem.path;
        let (message, help) = match &problem.fault {
            ConfigFault::Unknown { is_refused: true, known } => match (of_consul(path), renamed(problem, problems)) {
                (Some(help), _) => {
                    (format!("{path} is a field of Consul that no release of consul-ecs has"), help.to_owned())
                }
                (None, Some(required)) => {
                    let message = format!("no release of consul-ecs knows {path}");
                    let help = format!("rename {} to {required}", problem.key.unwrap_or_default());
                    return Some(Draft::new(span_of(problem), message, help).fix(rename(problem, required)));
                }
                (None, None) => (format!("no release of consul-ecs knows {path}"), instead(problem, known)),
            },
            ConfigFault::Missing if path == "service.port" && problem.value.0.get("ports").is_some() => return None,
            // The key that is meant to be it has the finding.
            ConfigFault::Missing if problems.iter().any(|other| is_renamed_to(other, problem, problems)) => {
                return None;
            }
            ConfigFault::Missing => (format!("{path} is missing"), format!("set {path}")),
            ConfigFault::WrongType(wanted, found) => {
                (format!("{path} must be {wanted}, not {found}"), format!("write {wanted}"))
            }
            ConfigFault::WrongValue(how) => (format!("{path} {how}"), "use a valid value".to_owned()),
            ConfigFault::Unknown { is_refused: false, .. } | ConfigFault::OtherRelease { .. } => return None,
        };
        Some(Draft::new(span_of(problem), message, help))
    });
}

/// The required field that the key of an unknown field misspells, and that its map lacks.
fn renamed<'p>(problem: &Problem<'_>, problems: &'p [Problem<'_>]) -> Option<&'p str> {
    let in_same_map = |other: &Problem<'_>| std::ptr::eq(other.value.0, problem.value.0);
    let missing = problems.iter().filter(|other| other.fault == ConfigFault::Missing && in_same_map(other));
    let required = nearest(problem.key?, missing.filter_map(|other| other.path.rsplit('.').next()))?;
    // Of several such keys, the first counts.
    let means_it = |other: &&Problem<'_>| {
        let is_unknown = matches!(other.fault, ConfigFault::Unknown { is_refused: true, .. });
        is_unknown && in_same_map(other) && other.key.is_some_and(|key| nearest(key, [required]).is_some())
    };
    problems.iter().find(means_it).filter(|first| std::ptr::eq(*first, problem)).map(|_| required)
}

fn is_renamed_to(problem: &Problem<'_>, missing: &Problem<'_>, problems: &[Problem<'_>]) -> bool {
    let is_it = |required| missing.path.rsplit('.').next() == Some(required);
    std::ptr::eq(problem.value.0, missing.value.0) && renamed(problem, problems).is_some_and(is_it)
}

/// The edits that give the value of an unknown field to another one; `None` if the value is not known.
fn rename(problem: &Problem<'_>, key: &str) -> Option<Fix> {
    let map = problem.value.0;
    let entry = map.entries().iter().find(|entry| Some(entry.key.as_str()) == problem.key)?;
    let value = entry.node.json();
    let place = map.place.then(PathStep::Key(key.to_owned()), map.place.span);
    let fix = Fix::set(&place, value.clone()).filter(|_| !value.to_string().contains(HOLE))?;
    fix.and(Fix::remove(&entry.node.place))
}

pub(super) static CONSUL_CONFIG_NULL: Rule =
    Rule::of_task(page!("consul-config-null"), Applies::Consul, check_config_null);

fn check_config_null(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(json) = subject.consul.as_ref().and_then(|consul| consul.configuration.json()) else { return };
    let gateway = json.get("gateway");
    for proxy in [json.get("proxy"), gateway.and_then(|gateway| gateway.get("proxy"))].into_iter().flatten() {
        let configs = [proxy].into_iter().chain(proxy.items_of("upstreams")).filter_map(|owner| owner.get("config"));
        for null in configs.filter_map(null_in_list) {
            let help = "remove the item: its list must not contain null";
            findings.add(Draft::new(null.place.span, "a list in config of the proxy contains null", help));
        }
    }
}

fn null_in_list(node: &Node) -> Option<&Node> {
    let null = node.items().iter().find(|item| matches!(item.value, Value::Null));
    let inside = || node.items().iter().chain(node.entries().iter().map(|entry| &entry.node)).find_map(null_in_list);
    null.or_else(inside)
}

pub(super) static CONSUL_CONFIG_IGNORED: Rule =
    Rule::of_task(page!("consul-config-ignored"), Applies::ConsulAndController, check_config_ignored);

fn check_config_ignored(subject: &Subject<'_>, findings: &mut Findings) {
    report(subject, findings, |problem, _| {
        let ConfigFault::Unknown { is_refused: false, known } = &problem.fault else { return None };
        let message = format!("consul-ecs ignores {}", problem.path);
        Some(Draft::new(span_of(problem), message, instead(problem, known)))
    });
}

pub(super) static CONSUL_CONFIG_VERSION: Rule =
    Rule::of_task(page!("consul-config-version"), Applies::ConsulAndController, check_config_version);

fn check_config_version(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(version) = subject.consul_ecs().and_then(|consul_ecs| consul_ecs.version) else { return };
    report(subject, findings, |problem, _| {
        let ConfigFault::OtherRelease { releases, value, is_refused } = &problem.fault else { return None };
        let value = value.map(|value| format!(" {value}")).unwrap_or_default();
        let does = if *is_refused { "refuses" } else { "ignores" };
        let message =
            format!("{}{value} needs consul-ecs {releases}, and consul-ecs {version} {does} it", problem.path);
        Some(Draft::new(span_of(problem), message, "remove it, or use an image that supports it"))
    });
}

pub(super) static CONSUL_SERVICE_OR_GATEWAY: Rule =
    Rule::once_per_task(page!("consul-service-or-gateway"), Applies::Consul, check_service_or_gateway);

fn check_service_or_gateway(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let configuration = &consul.configuration;
    let had_both = consul.version().is_some_and(|version| !Feature::GatewayWithoutService.is_in(version));
    let (path, message, help) = match (configuration.at("service"), configuration.at("gateway")) {
        (Maybe::Known(_), Maybe::Known(_)) if !had_both => {
            ("service", "the configuration describes a service and a gateway", "remove service or gateway")
        }
        (Maybe::Absent, Maybe::Absent) => {
            ("service", "the configuration describes neither a service nor a gateway", "add service, with its port")
        }
        _ => return None,
    };
    Some(Draft::new(configuration.place_of(path).span, message, help))
}
