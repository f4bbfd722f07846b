//! The proxy of both generations: its start, mounts and open files.

use serde_json::json;

use super::{
    fixes::{mount, usual_directory},
    prelude::*,
};
use audit_read::definition::{TaskDefinition, Ulimit};

pub(super) static CONSUL_PROXY_ORDER: Rule =
    Rule::once_per_task(page!("consul-proxy-order"), Applies::Consul, check_proxy_order);

fn check_proxy_order(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref().filter(|consul| consul.generation != Generation::ControlPlane)?;
    let (proxy, name) = (consul.proxy()?, consul.mesh_init?.name.text()?);
    let is_early = subject.order().after(name, Some("SUCCESS")).has(proxy) == Some(false);
    (is_early && !is_misspelt(subject, proxy, name)).then(|| {
        let draft = wait_for(proxy, name, "SUCCESS");
        if waits_for_the_end(proxy, name) { draft.effect(AFTER_A_FAILURE) } else { draft }
    })
}

const AFTER_A_FAILURE: &str =
    "if mesh-init fails, the proxy starts all the same, and fails because its configuration does not exist";

/// Whether a container waits until another one has stopped, successful or not.
fn waits_for_the_end(container: &Container, name: &str) -> bool {
    match container.waits_for(name) {
        Maybe::Known(dependency) => dependency.condition.text() == Some("COMPLETE"),
        Maybe::Absent | Maybe::Unknown => false,
    }
}

/// Whether a dependency of a container is probably meant for `name`, but has an unknown container or condition: other
/// rules report that.
pub(super) fn is_misspelt(subject: &Subject<'_>, container: &Container, name: &str) -> bool {
    container.depends_on.items.iter().any(|dependency| {
        let waits_for_unknown = dependency.container.text().is_some_and(|awaited| {
            matches!(subject.order().container(awaited), Maybe::Absent) && !subject.misses(awaited)
        });
        let is_for_it = dependency.container.text() == Some(name);
        let is_known = dependency
            .condition
            .text()
            .is_none_or(|found| ["START", "COMPLETE", "SUCCESS", "HEALTHY"].contains(&found));
        waits_for_unknown || (is_for_it && !is_known)
    })
}

/// The draft for a container that should wait for another one, and does not or with the wrong condition.
pub(super) fn wait_for(container: &Container, name: &str, condition: &str) -> Draft {
    let help = format!("make {} wait for {name}, condition {condition}", container.label());
    let draft = match container.waits_for(name) {
        Maybe::Known(dependency) => {
            let place = &dependency.condition.place;
            let found = dependency.condition.text().unwrap_or_default();
            let message = format!("{} waits for {name} with the condition {found}", container.label());
            Draft::new(place.span, message, help).fix(Fix::set(place, condition))
        }
        Maybe::Absent | Maybe::Unknown => {
            let value = json!({ "containerName": name, "condition": condition });
            let fix = Fix::append(&container.depends_on, value);
            let message = format!("{} does not wait for {name}", container.label());
            Draft::new(container.depends_on.place.span, message, help).fix(fix)
        }
    };
    draft.of(container)
}

pub(super) static CONSUL_PROXY_MOUNT: Rule =
    Rule::of_task(page!("consul-proxy-mount"), Applies::Consul, check_proxy_mount);

fn check_proxy_mount(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let (Some(proxy), Some(directory)) = (consul.proxy(), consul.shared_directory()) else { return };
    let wanted = consul.first().and_then(|first| volume_at(first, directory));
    match proxy.mount_at(directory) {
        Maybe::Absent => {
            let message = format!("{} mounts nothing at {directory}", proxy.label());
            let volume = wanted.unwrap_or("consul_data");
            let usual = usual_directory(consul, proxy);
            let fix = mount(subject.definition, proxy, volume, directory, true).filter(|_| usual.is_none());
            let help =
                format!("mount the volume {volume} at {directory}, read-only{}", usual.as_deref().unwrap_or_default());
            findings.add(Draft::new(proxy.mount_points.place.span, message, help).of(proxy).fix(fix));
        }
        Maybe::Known(mount) => {
            let (Some(found), Some(wanted)) = (mount.source_volume.text(), wanted) else { return };
            if found != wanted && !is_undefined(subject.definition, found) && !is_undefined(subject.definition, wanted)
            {
                let message =
                    format!("{} mounts {found} at {directory}, but its configuration is on {wanted}", proxy.label());
                let place = &mount.source_volume.place;
                let fix = Fix::set(place, wanted);
                let help = format!("mount the volume {wanted}");
                findings.add(Draft::new(place.span, message, help).of(proxy).fix(fix));
            }
        }
        Maybe::Unknown => {}
    }
}

/// Whether no volume has this name: the rule about volumes reports the mount.
fn is_undefined(definition: &TaskDefinition, name: &str) -> bool {
    definition.volumes.lacks(|volume| volume.name.text().is_none_or(|defined| defined == name))
}

pub(super) fn volume_at<'d>(container: &'d Container, directory: &str) -> Option<&'d str> {
    match container.mount_at(directory) {
        Maybe::Known(mount) => mount.source_volume.text(),
        Maybe::Absent | Maybe::Unknown => None,
    }
}

pub(super) static CONSUL_PROXY_MOUNT_READ_ONLY: Rule =
    Rule::once_per_task(page!("consul-proxy-mount-read-only"), Applies::Consul, check_proxy_mount_read_only);

fn check_proxy_mount_read_only(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let (Some(proxy), Some(directory)) = (consul.proxy(), consul.shared_directory()) else { return None };
    let Maybe::Known(mount) = proxy.mount_at(directory) else { return None };
    (mount.read_only.or(false) == Some(false)).then(|| {
        let place = &mount.read_only.place;
        let message = format!("{} can write to {directory}", proxy.label());
        let fix = Fix::set(place, true);
        Draft::new(place.span, message, "set readOnly to true").of(proxy).fix(fix)
    })
}

/// 2^20: the maximum on Fargate, and on hosts with the default `fs.nr_open`.
const MAX_OPEN_FILES: u64 = 1_048_576;

pub(super) static CONSUL_PROXY_OPEN_FILES: Rule =
    Rule::of_task(page!("consul-proxy-open-files"), Applies::Consul, check_proxy_open_files);

fn check_proxy_open_files(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(proxy) = subject.consul.as_ref().and_then(ConsulTask::proxy) else { return };
    if let Maybe::Known(limit) = proxy.ulimits.find_named("nofile", |limit| &limit.name)
        && !runs_elsewhere(subject.definition)
    {
        too_high(proxy, limit, findings);
    }
}

/// Whether it certainly runs on EC2 or external hosts only.
fn runs_elsewhere(definition: &TaskDefinition) -> bool {
    let on = &definition.requires_compatibilities;
    let is_named = on.texts().is_some_and(|names| !names.is_empty());
    is_named && !definition.runs_on_fargate()
}

fn too_high(proxy: &Container, limit: &Ulimit, findings: &mut Findings) {
    let exceeds = |field: &&Field<u64>| field.known().is_some_and(|value| *value > MAX_OPEN_FILES);
    let wrong: Vec<&Field<u64>> = [&limit.soft, &limit.hard].into_iter().filter(exceeds).collect();
    let Some(first) = wrong.first() else { return };
    let value = match first.known() {
        Some(&u64::MAX) => "any number of".to_owned(),
        value => value.copied().unwrap_or_default().to_string(),
    };
    let fixes = wrong.iter().map(|field| Fix::set(&field.place, MAX_OPEN_FILES));
    let fix = fixes.reduce(|all, next| all?.and(next)).flatten();
    let message =
        format!("{} may open {value} files, but Fargate and default hosts grant {MAX_OPEN_FILES}", proxy.label());
    findings.add(Draft::new(first.span(), message, format!("lower it to {MAX_OPEN_FILES}")).of(proxy).fix(fix));
}

pub(super) static CONSUL_PROXY_OPEN_FILES_DEFAULT: Rule =
    Rule::once_per_task(page!("consul-proxy-open-files-default"), Applies::Consul, check_proxy_open_files_default);

fn check_proxy_open_files_default(subject: &Subject<'_>) -> Option<Draft> {
    let proxy = subject.consul.as_ref().and_then(ConsulTask::proxy)?;
    if !matches!(proxy.ulimits.find_named("nofile", |limit| &limit.name), Maybe::Absent) {
        return None;
    }
    let value = json!({ "name": "nofile", "softLimit": MAX_OPEN_FILES, "hardLimit": MAX_OPEN_FILES });
    let message = format!("{} has no ulimit nofile", proxy.label());
    let help = format!("add the ulimit nofile with {MAX_OPEN_FILES} for both limits");
    let draft = Draft::new(proxy.ulimits.place.span, message, help);
    Some(draft.of(proxy).fix(Fix::append(&proxy.ulimits, value)))
}

pub(super) static CONSUL_HELPER_ESSENTIAL: Rule =
    Rule::of_task(page!("consul-helper-essential"), Applies::Consul, check_helper_essential);

fn check_helper_essential(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let proxies = [consul.sidecar_proxy, consul.dataplane].map(|proxy| proxy.filter(|_| consul.is_service()));
    for helper in [consul.client, consul.health_sync].into_iter().chain(proxies).flatten() {
        if helper.is_essential() == Some(true) {
            let message = format!("{} is essential: if it stops, ECS stops the task", helper.label());
            let help = "ignore this rule if that is what you want; otherwise set essential to false";
            findings.add(Draft::new(helper.essential.span(), message, help).of(helper));
        }
    }
}
