//! The configuration of consul-ecs, compared with the fields of its releases.

use super::prelude::*;
use crate::{
    spelling::nearest,
    subject::{ConfigValue, ConsulEcs, Feature, PlacedConfiguration, consul_ecs_version},
};
use document::{Node, Span, Value};
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

/// The defects of a task's configuration, in the order of the file.
pub(super) fn problems<'c>(consul_ecs: &ConsulEcs<'c, '_>) -> Vec<ConfigProblem<'c, ConfigValue<'c>>> {
    let Some(json) = consul_ecs.configuration.and_then(PlacedConfiguration::json) else { return Vec::new() };
    // A tag such as 0.9 moves to the newest release of its line.
    let image = consul_ecs.version.filter(|_| consul_ecs.fits);
    let image = image.map(|version| consul_ecs.release.unwrap_or(version.in_line()));
    ConfigCheck::run(ConfigValue(json), &ROOT, image.map(Releases::only), image.unwrap_or(consul_ecs.presumed))
}

/// A finding in the configuration is one of the container that has it.
pub(super) fn of_holder(consul_ecs: &ConsulEcs<'_, '_>, draft: Draft) -> Draft {
    match consul_ecs.holder {
        Some(holder) => draft.of(holder),
        None => draft,
    }
}

/// The bytes of a defect: the key, if the key is wrong.
fn span_of(problem: &ConfigProblem<'_, ConfigValue<'_>>) -> Span {
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
pub(super) fn instead(problem: &ConfigProblem<'_, ConfigValue<'_>>, known: &[&str]) -> String {
    let meant = problem.key.and_then(|key| nearest(key, known.iter().copied()));
    meant.map_or_else(|| "remove it".to_owned(), |meant| format!("did you mean {meant}?"))
}

fn check_config_schema(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul_ecs) = subject.consul_ecs() else { return };
    for problem in problems(&consul_ecs) {
        let path = &problem.path;
        let (message, help) = match &problem.fault {
            ConfigFault::Unknown { is_refused: true, known } => match of_consul(path) {
                Some(help) => {
                    (format!("{path} is a field of Consul that no release of consul-ecs has"), help.to_owned())
                }
                None => (format!("no release of consul-ecs knows {path}"), instead(&problem, known)),
            },
            ConfigFault::Missing if path == "service.port" && problem.value.0.get("ports").is_some() => continue,
            ConfigFault::Missing => (format!("{path} is missing"), format!("set {path}")),
            ConfigFault::WrongType(wanted, found) => {
                (format!("{path} must be {wanted}, not {found}"), format!("write {wanted}"))
            }
            ConfigFault::WrongValue(how) => (format!("{path} {how}"), "use a valid value".to_owned()),
            ConfigFault::Unknown { is_refused: false, .. } | ConfigFault::OtherRelease { .. } => continue,
        };
        let draft = Draft::new(span_of(&problem), message, help);
        findings.add(of_holder(&consul_ecs, draft));
    }
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
    let Some(consul_ecs) = subject.consul_ecs() else { return };
    for problem in problems(&consul_ecs) {
        let ConfigFault::Unknown { is_refused: false, known } = &problem.fault else { continue };
        let message = format!("consul-ecs ignores {}", problem.path);
        let draft = Draft::new(span_of(&problem), message, instead(&problem, known));
        findings.add(of_holder(&consul_ecs, draft));
    }
}

pub(super) static CONSUL_CONFIG_VERSION: Rule =
    Rule::of_task(page!("consul-config-version"), Applies::ConsulAndController, check_config_version);

fn check_config_version(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul_ecs) = subject.consul_ecs() else { return };
    let Some(version) = &consul_ecs.version else { return };
    for problem in problems(&consul_ecs) {
        let ConfigFault::OtherRelease { releases, value, is_refused } = &problem.fault else { continue };
        let value = value.map(|value| format!(" {value}")).unwrap_or_default();
        let does = if *is_refused { "refuses" } else { "ignores" };
        let message =
            format!("{}{value} needs consul-ecs {releases}, and consul-ecs {version} {does} it", problem.path);
        let draft = Draft::new(span_of(&problem), message, "remove it, or use an image that supports it");
        findings.add(of_holder(&consul_ecs, draft));
    }
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
