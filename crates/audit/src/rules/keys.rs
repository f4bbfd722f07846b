//! Keys of maps, in every task definition.

use std::collections::HashSet;

use super::prelude::*;
use crate::spelling::misspelt;
use audit_read::definition::{
    Dialect,
    api::{Departure, Fault, Shape},
};
use document::Node;

pub(super) static ECS_DUPLICATE_KEY: Rule =
    Rule::of_task(page!("ecs-duplicate-key"), Applies::EveryTask, check_duplicate_key);

fn check_duplicate_key(subject: &Subject<'_>, findings: &mut Findings) {
    let configuration = subject.consul.as_ref().and_then(|consul| consul.configuration.json());
    let repeated = subject.definition.repeated_keys.iter().cloned();
    let mut seen = HashSet::new();
    for repeated in repeated.chain(configuration.into_iter().flat_map(Node::repeated_keys)) {
        // A local value may be in several containers.
        if !seen.insert(repeated.last) {
            continue;
        }
        let message = format!("the key {:?} is repeated in one map, and only its last value counts", repeated.key);
        let draft = Draft::new(repeated.last, message, "remove one of the two");
        findings.extend([draft.note(repeated.ignored, "this value has no effect")]);
    }
    let mut keys = HashSet::new();
    for tag in &subject.definition.tags.items {
        let Some(key) = tag.key.text() else { continue };
        if !keys.insert(key) {
            let message = format!("the tag {key} is there twice, and ECS refuses the definition");
            findings.add(Draft::new(tag.place.span, message, "remove one of the two").severity(Severity::Error));
        }
    }
}

pub(super) static ECS_UNKNOWN_KEY: Rule =
    Rule::of_task(page!("ecs-unknown-key"), Applies::EveryTask, check_unknown_key);

/// Keys of other programs, such as Compose and Kubernetes, and what ECS has instead.
const OF_OTHERS: [(&str, &str); 26] = [
    ("args", "command"),
    ("cmd", "command"),
    ("containers", "containerDefinitions"),
    ("depends", "dependsOn"),
    ("env", "environment"),
    ("envFile", "environmentFiles"),
    ("envVars", "environment"),
    ("environmentVariables", "environment"),
    ("executionRole", "executionRoleArn"),
    ("dns", "dnsServers"),
    ("expose", "portMappings"),
    ("gpus", "resourceRequirements"),
    ("init", "linuxParameters"),
    ("labels", "dockerLabels"),
    ("livenessProbe", "healthCheck"),
    ("logging", "logConfiguration"),
    ("mounts", "mountPoints"),
    ("port", "containerPort"),
    ("ports", "portMappings"),
    ("restart", "restartPolicy"),
    ("sysctls", "systemControls"),
    ("taskRole", "taskRoleArn"),
    ("tty", "pseudoTerminal"),
    ("volumeMounts", "mountPoints"),
    ("workdir", "workingDirectory"),
    ("working_dir", "workingDirectory"),
];

/// Parameters of `CreateService` and `RunTask` that say how many tasks run, and where. Others, such as `monitoring`, may
/// become keys of a task definition. Sources: <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html>,
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html>
const OF_SERVICES: [&str; 18] = [
    "capacityProviderStrategy",
    "cluster",
    "count",
    "deploymentConfiguration",
    "deploymentController",
    "desiredCount",
    "forceNewDeployment",
    "healthCheckGracePeriodSeconds",
    "launchType",
    "loadBalancers",
    "networkConfiguration",
    "overrides",
    "platformVersion",
    "schedulingStrategy",
    "serviceName",
    "serviceRegistries",
    "startedBy",
    "taskDefinition",
];

/// What people put before and behind the names of ECS's keys: `intervalSeconds`, `containerImage`.
const BEGINNINGS: [&str; 4] = ["container", "docker", "ecs", "task"];
const ENDINGS: [&str; 21] = [
    "arn",
    "config",
    "configuration",
    "count",
    "definition",
    "definitions",
    "gib",
    "id",
    "ingib",
    "inseconds",
    "list",
    "mb",
    "mib",
    "name",
    "ref",
    "seconds",
    "secs",
    "sec",
    "uri",
    "url",
    "value",
];

/// A key without such a beginning and ending, in lower case.
fn stem(key: &str) -> String {
    let key = key.to_ascii_lowercase();
    let rest = BEGINNINGS.iter().find_map(|start| key.strip_prefix(start)).filter(|rest| !rest.is_empty());
    let rest = rest.unwrap_or(&key);
    let longest = ENDINGS.iter().filter_map(|end| rest.strip_suffix(end)).min_by_key(|stem| stem.len());
    longest.filter(|stem| !stem.is_empty()).unwrap_or(rest).to_owned()
}

/// The only key with the same stem, or the one that `key` is the plural of.
fn of_stem(key: &str, shape: &'static Shape) -> Option<&'static str> {
    let wanted = stem(key);
    let mut same = shape.names().filter(|name| stem(name) == wanted || is_plural(key, name));
    same.next().filter(|_| same.next().is_none())
}

/// Whether `key` is `name` with an s: it may be a new list of what `name` has one of.
fn is_plural(key: &str, name: &str) -> bool {
    key.strip_suffix('s').is_some_and(|one| one.eq_ignore_ascii_case(name))
}

/// The key of a map that `key` misspells. A map has each key once: one of those that are `given` is not meant.
pub(super) fn misspelt_key(key: &str, shape: &'static Shape, given: &[&str]) -> Option<&'static str> {
    misspelt(key, shape.names().filter(|name| !given.contains(name) && !is_plural(key, name)))
}

fn check_unknown_key(subject: &Subject<'_>, findings: &mut Findings) {
    for departure in &subject.definition.departures {
        let Fault::UnknownKey { key, instead_of, given } = &departure.fault else { continue };
        let Some((help, severity)) = meant(key, departure.shape, *instead_of, given) else { continue };
        // Terraform's provider drops a key that it does not know.
        let severity = match subject.definition.dialect {
            Dialect::Terraform | Dialect::TerraformPlan if severity == Severity::Error => Severity::Warning,
            Dialect::Terraform | Dialect::TerraformPlan => Severity::Info,
            _ => severity,
        };
        let container = container_of(subject, departure);
        let message = format!("ECS does not know the key {}", named(&departure.path, container));
        let draft = Draft::new(departure.span, message, help).severity(severity);
        findings.add(of(container, draft));
    }
}

/// What a key most likely means, and how sure that is. A key like no other may be newer than this release: nothing is said
/// of it.
fn meant(
    key: &str,
    shape: &'static Shape,
    instead_of: Option<&str>,
    given: &[&'static str],
) -> Option<(String, Severity)> {
    if let Some(meant) = instead_of.or_else(|| misspelt_key(key, shape, given)) {
        return Some((format!("did you mean {meant}?"), Severity::Error));
    }
    let is_other = |name: &&str| !is_plural(key, name);
    if let Some(twin) = misspelt(key, given.iter().copied().filter(is_other)) {
        return Some((format!("remove it: {twin} is there already"), Severity::Error));
    }
    if shape.is_task_definition() && OF_SERVICES.iter().any(|other| other.eq_ignore_ascii_case(key)) {
        let help = "remove it: it is a parameter of the service or of RunTask";
        return Some((help.to_owned(), Severity::Error));
    }
    if key.contains('-') && shape.names().any(|name| name == "options") {
        return Some(("move it to options".to_owned(), Severity::Error));
    }
    let of_others =
        OF_OTHERS.iter().find(|(other, own)| other.eq_ignore_ascii_case(key) && shape.names().any(|name| name == *own));
    if let Some((_, own)) = of_others {
        let help = if given.contains(own) { format!("move it to {own}") } else { format!("did you mean {own}?") };
        return Some((help, Severity::Warning));
    }
    if let Some(meant) = of_stem(key, shape) {
        let is_given = given.contains(&meant);
        let help =
            if is_given { format!("remove it: {meant} is there already") } else { format!("did you mean {meant}?") };
        return Some((format!("{help} If ECS got {key} later, ignore this finding"), Severity::Info));
    }
    let homes: Vec<&str> = Shape::with(key).map(|shape| shape.name).collect();
    (!homes.is_empty()).then(|| (format!("move it to {}", homes.join(" or ")), Severity::Warning))
}

/// Whether it is about the network mode of a mesh, which has rules of its own.
pub(super) fn is_network_mode_of_mesh(subject: &Subject<'_>, departure: &Departure) -> bool {
    let has_mesh = subject.consul.is_some() || subject.proxy_configuration().is_some();
    has_mesh && departure.is_at("networkMode")
}

/// The container that a departure is in.
pub(super) fn container_of<'d>(subject: &Subject<'d>, departure: &Departure) -> Option<&'d Container> {
    subject.definition.containers.items.get(departure.container?)
}

/// `healthCheck.interval of web`.
pub(super) fn named(path: &str, container: Option<&Container>) -> String {
    match container {
        Some(container) => format!("{path} of {}", container.label()),
        None => path.to_owned(),
    }
}

pub(super) fn of(container: Option<&Container>, draft: Draft) -> Draft {
    match container {
        Some(container) => draft.of(container),
        None => draft,
    }
}
