//! The container health-sync.

use super::{mesh_init::runs_other, prelude::*, proxy::wait_for};
use crate::subject::{PlacedConfiguration, consul_ecs_version, names};
use audit_read::definition::Dependency;
use document::{HOLE, Node, Span, Value};

pub(super) static CONSUL_HEALTH_SYNC_MISSING: Rule =
    Rule::once_per_task(page!("consul-health-sync-missing"), Applies::Consul, check_health_sync_missing);

fn check_health_sync_missing(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    if consul.health_sync.is_some() || !consul.is_complete {
        return None;
    }
    let mesh_init = consul.mesh_init?;
    let message = need(consul)?;
    let help = format!(
        "add the container {} with the image and configuration of {} and the command [\"health-sync\"]",
        names::HEALTH_SYNC,
        mesh_init.label()
    );
    Some(Draft::new(mesh_init.span(), message, help))
}

/// The reason for health-sync, if there is one.
fn need(consul: &ConsulTask<'_>) -> Option<String> {
    let synced: Vec<&str> = consul.configuration.list("healthSyncContainers")?.iter().filter_map(Node::text).collect();
    match consul.generation {
        Generation::ControlPlane => None,
        Generation::Dataplane => Some("no container runs health-sync".to_owned()),
        Generation::Client if synced.is_empty() => None,
        Generation::Client => Some(format!("no container runs health-sync, which {} needs", synced.join(", "))),
    }
}

pub(super) static CONSUL_HEALTH_SYNC_NEEDLESS: Rule =
    Rule::once_per_task(page!("consul-health-sync-needless"), Applies::ConsulClient, check_health_sync_needless);

fn check_health_sync_needless(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let health_sync = consul.health_sync?;
    let configuration = &consul.configuration;
    let has_nothing_to_sync = configuration.list("healthSyncContainers").is_some_and(<[_]>::is_empty);
    // If a container is missing in the list, another rule reports that.
    let could_sync = consul.apps.iter().any(|app| app.is_essential() != Some(false) && !app.health_check.is_absent());
    let has_native_checks = configuration.list("service.checks").is_some_and(|checks| !checks.is_empty());
    let has_nothing_to_do = has_nothing_to_sync && (has_native_checks || !could_sync);
    (has_nothing_to_do && consul.logs_in() == Some(false)).then(|| {
        Draft::new(
            health_sync.span(),
            format!("{} has no container to sync and no login to end", health_sync.label()),
            "remove it, or add containers to healthSyncContainers",
        )
        .of(health_sync)
    })
}

pub(super) static CONSUL_HEALTH_SYNC_COMMAND: Rule =
    Rule::once_per_task(page!("consul-health-sync-command"), Applies::Consul, check_health_sync_command);

fn check_health_sync_command(subject: &Subject<'_>) -> Option<Draft> {
    runs_other(subject.consul.as_ref()?.health_sync?, "health-sync")
}

pub(super) static CONSUL_HEALTH_SYNC_ORDER: Rule =
    Rule::once_per_task(page!("consul-health-sync-order"), Applies::Consul, check_health_sync_order);

fn check_health_sync_order(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let (health_sync, name) = (consul.health_sync?, consul.mesh_init?.name.text()?);
    let is_early = subject.order().after(name, Some("SUCCESS")).has(health_sync) == Some(false);
    is_early.then(|| wait_for(health_sync, name, "SUCCESS"))
}

pub(super) static CONSUL_HEALTH_SYNC_END: Rule =
    Rule::once_per_task(page!("consul-health-sync-end"), Applies::ConsulDataplane, check_health_sync_end);

/// The conditions of dependencies on containers that run until the task stops.
const RUNNING: [&str; 2] = ["START", "HEALTHY"];

fn check_health_sync_end(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let (order, health_sync, proxy) = (subject.order(), consul.health_sync?, consul.dataplane?);
    // Older releases exit at TERM.
    if consul_ecs_version(health_sync).is_some_and(|version| !Generation::Dataplane.fits(version)) {
        return None;
    }
    let name = proxy.name.text()?;
    let is_proxy = |other: &Container| std::ptr::eq(other, proxy);
    let after = RUNNING.map(|condition| order.after(name, Some(condition)));
    let waits = |other: &Container| is_proxy(other) || after.iter().any(|after| after.has(other) == Some(true));
    let is_running = |dependency: &Dependency| dependency.condition.text().is_some_and(|text| RUNNING.contains(&text));
    let own = order.pairs().filter(|(container, ..)| std::ptr::eq(*container, health_sync));
    let kept = own.filter(|(_, dependency, other)| is_running(dependency) && waits(other));
    let (_, dependency, other) = kept.min_by_key(|(.., other)| !is_proxy(other))?;
    let (label, awaited) = (health_sync.label(), other.label());
    let message = match dependency.condition.text() {
        Some(condition) if is_proxy(other) => format!("{label} waits until {name} is {condition}"),
        _ => format!("{label} waits for {name} through {awaited}"),
    };
    let help = format!("let it wait for mesh-init only, and not for {awaited}");
    Some(Draft::new(dependency.container.span(), message, help).of(health_sync))
}

pub(super) static CONSUL_HEALTH_SYNC_CONFIGURATION: Rule =
    Rule::once_per_task(page!("consul-health-sync-configuration"), Applies::Consul, check_health_sync_configuration);

fn check_health_sync_configuration(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let (Some(health_sync), Some(_)) = (consul.health_sync, consul.mesh_init) else { return None };
    let own = PlacedConfiguration::of(subject.definition, health_sync);
    let (Some(wanted), Some(found)) = (consul.configuration.json(), own.json()) else { return None };
    // Another rule reports a missing or invalid configuration.
    let are_maps = [wanted, found].iter().all(|node| matches!(node.value, Value::Map(_)));
    let difference = difference(wanted, found, "").filter(|_| are_maps)?;
    let message =
        format!("the configuration of {} differs from mesh-init's at {}", health_sync.label(), difference.path);
    let help = "give both the same value of CONSUL_ECS_CONFIG_JSON";
    let draft = Draft::new(difference.span, message, help).of(health_sync);
    Some(draft.note(wanted.place.span, "mesh-init's configuration"))
}

struct Difference {
    path: String,
    span: Span,
}

/// The first path at which the two certainly differ. `path` is the path so far, and empty at the top.
fn difference(wanted: &Node, found: &Node, path: &str) -> Option<Difference> {
    let here = Some(Difference { path: path.to_owned(), span: found.place.span });
    match (&wanted.value, &found.value) {
        (Value::Unknown, _) | (_, Value::Unknown) | (Value::Null, Value::Null) => None,
        (Value::Map(_), Value::Map(_)) => map_difference(wanted, found, path),
        (Value::List(left), Value::List(right)) if left.len() == right.len() => {
            let mut pairs = left.iter().zip(right).enumerate();
            pairs.find_map(|(index, (wanted, found))| difference(wanted, found, &format!("{path}[{index}]")))
        }
        (Value::Text(left), Value::Text(right)) => {
            let is_certain = !left.contains(HOLE) && !right.contains(HOLE);
            here.filter(|_| is_certain && left != right)
        }
        (Value::Number(left), Value::Number(right)) => here.filter(|_| left != right),
        (Value::Bool(left), Value::Bool(right)) => here.filter(|_| left != right),
        _ => here,
    }
}

fn map_difference(wanted: &Node, found: &Node, path: &str) -> Option<Difference> {
    let more = found.entries().iter().filter(|entry| wanted.get(&entry.key).is_none());
    let mut keys = wanted.entries().iter().chain(more).map(|entry| entry.key.as_str());
    keys.by_ref().filter(|key| *key != "logLevel").find_map(|key| {
        let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        match (wanted.get(key), found.get(key)) {
            (Some(wanted), Some(found)) => difference(wanted, found, &path),
            (None, None) => None,
            (None, Some(more)) => Some(Difference { path, span: more.place.span }),
            (Some(_), None) => Some(Difference { path, span: found.place.span }),
        }
    })
}

pub(super) static CONSUL_HEALTH_SYNC_CONTAINERS: Rule =
    Rule::of_task(page!("consul-health-sync-containers"), Applies::Consul, check_health_sync_containers);

fn check_health_sync_containers(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(synced) = consul.configuration.list("healthSyncContainers") else { return };
    for node in synced {
        let Some(name) = node.text() else { continue };
        if let Some((message, help)) = wrong(subject, name) {
            findings.add(Draft::new(node.place.span, message, help));
        }
    }
}

fn wrong(subject: &Subject<'_>, name: &str) -> Option<(String, String)> {
    let containers = &subject.definition.containers;
    match subject.definition.container(name) {
        Maybe::Known(container) if container.has_health_check() == Some(false) => Some((
            format!("healthSyncContainers contains {name}, which has no health check"),
            format!("give {name} a healthCheck, or remove it from healthSyncContainers"),
        )),
        Maybe::Absent if containers.items.iter().all(|container| container.name.text().is_some()) => Some((
            format!("healthSyncContainers contains {name}, but there is no such container"),
            "name a container of this definition in healthSyncContainers, or remove the name".to_owned(),
        )),
        Maybe::Known(_) | Maybe::Absent | Maybe::Unknown => None,
    }
}
