//! The containers of the app: their start, their end and their health in Consul.

use serde_json::json;

use super::{
    fixes::mount,
    prelude::*,
    proxy::{is_misspelt, wait_for},
};
use crate::subject::{EntryPoint, is_observer, workloads};
use audit_read::definition::PortMapping;
use document::edit::{Change, Edit};

pub(super) static CONSUL_APP_ESSENTIAL: Rule =
    Rule::of_task(page!("consul-app-essential"), Applies::Consul, check_app_essential);

fn check_app_essential(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    if !consul.is_service() || !consul.is_complete {
        return;
    }
    let workloads = workloads(&consul.apps);
    // A container of unknown kind may be the log router.
    let unclear = consul.apps.iter().copied().filter(|app| app.fire_lens.is_unknown());
    if workloads.iter().copied().chain(unclear).any(|app| app.is_essential() != Some(false)) {
        return;
    }
    let help = "set essential to true for the service's container";
    match workloads.as_slice() {
        [] => findings.add(Draft::new(
            subject.definition.span(),
            "the task has only containers of the mesh",
            "add the app's container",
        )),
        [app] => {
            let essential = &app.essential;
            let message = format!("{} is the app, but not essential", app.label());
            let fix = Fix::set(&essential.place, true);
            findings.add(Draft::new(essential.span(), message, help).of(app).fix(fix));
        }
        [first, ..] => {
            let names: Vec<String> = workloads.iter().copied().map(Container::label).collect();
            let message = format!("none of the app's containers is essential: {}", names.join(", "));
            findings.add(Draft::new(first.essential.span(), message, help));
        }
    }
}

pub(super) static CONSUL_APP_ORDER: Rule = Rule::of_task(page!("consul-app-order"), Applies::Consul, check_app_order);

fn check_app_order(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(name) = consul.proxy().filter(|_| consul.is_service()).and_then(|proxy| proxy.name.text()) else { return };
    let order = subject.order();
    let mesh = consul.consul_ecs_containers().chain([consul.client, consul.proxy()].into_iter().flatten());
    let (before, after) = (order.before(mesh), order.after(name, Some("HEALTHY")));
    let serves = |app: &Container| serves(consul, app);
    let is_served = consul.apps.iter().any(|app| serves(app) == Some(true));
    for app in consul.apps.iter().filter(|app| !is_observer(app)) {
        let comes_first = app.name.text().is_none_or(|name| before.may_have(name));
        // A migration or a cache that the app waits for, or that the task does not need, has little to do with the mesh.
        let is_helper = app.is_essential() == Some(false) || order.waiting_for(app).next().is_some();
        if comes_first || after.has(app) != Some(false) || (serves(app) == Some(false) && is_helper) {
            continue;
        }
        if !is_misspelt(subject, app, name) && !waits_for_the_end(app, name) {
            let severity = if is_served && serves(app) == Some(false) { Severity::Info } else { Severity::Warning };
            findings.add(wait_for(app, name, "HEALTHY").severity(severity));
        }
    }
}

/// Whether a container waits for the end of the proxy: the rule about ends that never come reports that.
fn waits_for_the_end(app: &Container, proxy: &str) -> bool {
    match app.waits_for(proxy) {
        Maybe::Known(dependency) => matches!(dependency.condition.text(), Some("COMPLETE" | "SUCCESS")),
        Maybe::Absent | Maybe::Unknown => false,
    }
}

/// Whether a container maps the port of the service; `None` if it is known only at deployment.
fn serves(consul: &ConsulTask<'_>, app: &Container) -> Option<bool> {
    let port = consul.configuration.number("service.port", 0)?;
    let has_it = |mapping: &PortMapping| mapping.container_port.known().is_none_or(|mapped| *mapped == port);
    match app.port_mappings.find(has_it) {
        Maybe::Known(mapping) => mapping.container_port.known().map(|_| true),
        Maybe::Absent => Some(false),
        Maybe::Unknown => None,
    }
}

/// The default of `stopTimeout` on Fargate, in seconds.
const DEFAULT: u64 = 30;

pub(super) static CONSUL_APP_SHUTDOWN_DELAY: Rule =
    Rule::of_task(page!("consul-app-shutdown-delay"), Applies::Consul, check_app_shutdown_delay);

fn check_app_shutdown_delay(subject: &Subject<'_>, findings: &mut Findings) {
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

pub(super) static CONSUL_APP_ENTRY_POINT_MOUNT: Rule =
    Rule::of_task(page!("consul-app-entry-point-mount"), Applies::Consul, check_app_entry_point_mount);

fn check_app_entry_point_mount(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(directory) = consul.shared_directory() else { return };
    for app in &consul.apps {
        let Some(entry_point) = EntryPoint::of(app) else { continue };
        if entry_point.program() != format!("{directory}/consul-ecs")
            || !matches!(app.mount_at(directory), Maybe::Absent)
        {
            continue;
        }
        let volume = consul.first().and_then(|first| match first.mount_at(directory) {
            Maybe::Known(mount) => mount.source_volume.text(),
            Maybe::Absent | Maybe::Unknown => None,
        });
        let volume = volume.unwrap_or("consul_data");
        let message =
            format!("{} starts with {}, but mounts nothing at {directory}", app.label(), entry_point.program());
        let help = format!("mount the volume {volume} at {directory}, read-only");
        let draft = Draft::new(app.mount_points.place.span, message, help).of(app);
        findings.add(draft.fix(mount(subject.definition, app, volume, directory, true)));
    }
}

pub(super) static CONSUL_HEALTH_UNSYNCED: Rule =
    Rule::of_task(page!("consul-health-unsynced"), Applies::Consul, check_health_unsynced);

fn check_health_unsynced(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    if !consul.is_service() || has_native_checks(consul) {
        return;
    }
    let Some(synced) = consul.configuration.list("healthSyncContainers") else { return };
    if synced.iter().any(|node| node.text().is_none()) {
        return;
    }
    for app in workloads(&consul.apps) {
        let Some(name) = app.name.text() else { continue };
        let is_checked = app.is_essential() == Some(true) && app.health_check.known().is_some();
        if is_checked && !synced.iter().any(|node| node.text() == Some(name)) {
            findings.add(unsynced(consul, app, name));
        }
    }
}

/// Whether the service certainly or possibly has Consul checks.
fn has_native_checks(consul: &ConsulTask<'_>) -> bool {
    let checks = consul.configuration.list("service.checks");
    consul.generation == Generation::Client && checks.is_none_or(|checks| !checks.is_empty())
}

fn unsynced(consul: &ConsulTask<'_>, app: &Container, name: &str) -> Draft {
    let message = format!("the health of {name} is not synced to Consul");
    let help = match consul.health_sync {
        None if consul.generation == Generation::Client => {
            format!("add {name} to healthSyncContainers, and the container consul-ecs-health-sync")
        }
        _ => format!("add {name} to healthSyncContainers, in each container that has the configuration"),
    };
    // With two copies of the configuration, an edit of one would make them differ.
    let is_only_copy = consul.consul_ecs_containers().count() == 1 && consul.generation == Generation::ControlPlane;
    let list = consul.configuration.place_of("healthSyncContainers");
    let change = match consul.configuration.at("healthSyncContainers") {
        Maybe::Known(_) => Change::Append(json!(name)),
        Maybe::Absent | Maybe::Unknown => Change::Set(json!([name])),
    };
    let route = list.route.clone().filter(|_| is_only_copy);
    let fix = route.map(|route| Fix { edits: vec![Edit { route, change }], elsewhere: None });
    Draft::new(list.span, message, help).of(app).note(app.health_check.span(), "its health check").fix(fix)
}

pub(super) static CONSUL_HEALTH_NATIVE_AND_SYNCED: Rule = Rule::once_per_task(
    page!("consul-health-native-and-synced"),
    Applies::ConsulClient,
    check_health_native_and_synced,
);

fn check_health_native_and_synced(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let configuration = &consul.configuration;
    let has = |path: &str| configuration.list(path).is_some_and(|items| !items.is_empty());
    (has("service.checks") && has("healthSyncContainers")).then(|| {
        Draft::new(
            configuration.place_of("service.checks").span,
            "both service.checks and healthSyncContainers are set",
            "keep one of them, and empty the other",
        )
        .note(configuration.place_of("healthSyncContainers").span, "the containers whose health is synced")
    })
}
