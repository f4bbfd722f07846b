//! App Mesh: the proxy configuration, and the app whose traffic ECS redirects.

use std::ops::RangeInclusive;

use serde_json::json;

use super::{
    app_mesh_envoy::admin_port,
    prelude::*,
    service::{has_known_ports, is_single, shown, tcp_ports},
};
use crate::subject::{AppMeshTask, is_observer, is_xray_daemon, workloads};
use audit_read::{
    app_mesh::ResourceKind,
    definition::{ProxyConfiguration, Tag, TaskDefinition},
};

pub(super) static APPMESH_APP_PORTS: Rule =
    Rule::once_per_task(page!("appmesh-app-ports", in APP_MESH), Applies::AppMesh, check_app_ports);

fn check_app_ports(subject: &Subject<'_>) -> Option<Draft> {
    let proxy = subject.proxy_configuration()?;
    let (span, message) = match (proxy.property("AppPorts"), proxy.items("AppPorts")) {
        (Maybe::Absent, _) => (proxy.properties.place.span, "the property AppPorts is missing".to_owned()),
        (Maybe::Known(property), Some(items)) if items.is_empty() => {
            (property.value.span(), "AppPorts lists no port".to_owned())
        }
        (Maybe::Known(property), Some(_)) if let Some(port) = of_envoy(subject, proxy) => {
            (property.value.span(), format!("AppPorts lists {port}, a port of Envoy's own"))
        }
        _ => return no_list_of_ports(proxy, "AppPorts"),
    };
    Some(Draft::new(span, message, "set AppPorts to the ports that the app listens on, separated by commas"))
}

/// A port in `AppPorts` that Envoy listens on itself: of its administration interface, or of redirected traffic.
fn of_envoy(subject: &Subject<'_>, proxy: &ProxyConfiguration) -> Option<u16> {
    let admin = subject.envoy().and_then(admin_port).and_then(|port| port.parse::<u16>().ok());
    let own = [Some(15000), Some(15001), admin];
    proxy.ports("AppPorts")?.into_iter().find(|port| own.contains(&Some(*port)))
}

/// Reports a property that must be a list of ports and is not.
fn no_list_of_ports(proxy: &ProxyConfiguration, name: &str) -> Option<Draft> {
    let Maybe::Known(property) = proxy.property(name) else { return None };
    let items = proxy.items(name).filter(|_| proxy.ports(name).is_none())?;
    let message = format!("{name} is {}, which is not a list of ports", items.join(","));
    Some(Draft::new(property.value.span(), message, "use ports from 1 to 65535, separated by commas"))
}

pub(super) static APPMESH_EGRESS_IGNORED_IPS: Rule =
    Rule::once_per_task(page!("appmesh-egress-ignored-ips", in APP_MESH), Applies::AppMesh, check_egress_ignored_ips);

fn check_egress_ignored_ips(subject: &Subject<'_>) -> Option<Draft> {
    let proxy = subject.proxy_configuration()?;
    let listed = match proxy.property("EgressIgnoredIPs") {
        Maybe::Absent => Vec::new(),
        _ => proxy.items("EgressIgnoredIPs")?,
    };
    let missing = ["169.254.170.2", "169.254.169.254"].into_iter().filter(|endpoint| !listed.contains(endpoint));
    let missing: Vec<&str> = missing.collect();
    // A range may contain the endpoints.
    if missing.is_empty() || listed.iter().any(|item| item.contains('/')) {
        return None;
    }
    let all = [listed, missing.clone()].concat().join(",");
    let message = format!("EgressIgnoredIPs lacks {}", missing.join(" and "));
    Some(property(proxy, "EgressIgnoredIPs", &all, message))
}

/// Reports a wrong or missing property, with the fix that sets it.
fn property(proxy: &ProxyConfiguration, name: &str, correct: &str, message: String) -> Draft {
    let (span, fix) = if let Maybe::Known(property) = proxy.property(name) {
        (property.value.span(), Fix::set(&property.value.place, correct))
    } else {
        let property = json!({ "name": name, "value": correct });
        (proxy.properties.place.span, Fix::append(&proxy.properties, property))
    };
    Draft::new(span, message, format!("set {name} to {correct}")).fix(fix)
}

pub(super) static APPMESH_EGRESS_IGNORED_PORTS: Rule = Rule::once_per_task(
    page!("appmesh-egress-ignored-ports", in APP_MESH),
    Applies::AppMesh,
    check_egress_ignored_ports,
);

fn check_egress_ignored_ports(subject: &Subject<'_>) -> Option<Draft> {
    no_list_of_ports(subject.proxy_configuration()?, "EgressIgnoredPorts")
}

pub(super) static APPMESH_IGNORED_USER: Rule =
    Rule::once_per_task(page!("appmesh-ignored-user", in APP_MESH), Applies::AppMesh, check_ignored_user);

fn check_ignored_user(subject: &Subject<'_>) -> Option<Draft> {
    let (proxy, envoy) = subject.app_mesh.as_ref().and_then(AppMeshTask::proxied)?;
    match (value(proxy, "IgnoredUID"), value(proxy, "IgnoredGID")) {
        (Maybe::Known(uid), _) => by_user(subject.definition, envoy, uid),
        (Maybe::Absent, Maybe::Known(gid)) => by_group(envoy, gid),
        (Maybe::Absent, Maybe::Absent) => {
            let user = envoy.user.text().filter(|user| can_bypass_envoy(user));
            let fix =
                user.and_then(|user| Fix::append(&proxy.properties, json!({ "name": "IgnoredUID", "value": user })));
            let message = format!("neither IgnoredUID nor IgnoredGID excludes {}", envoy.label());
            let help = "add the property IgnoredUID with the user that the Envoy container runs as";
            Some(Draft::new(proxy.properties.place.span, message, help).fix(fix))
        }
        (Maybe::Unknown, _) | (_, Maybe::Unknown) => None,
    }
}

/// A property with a value.
fn value<'d>(proxy: &'d ProxyConfiguration, name: &str) -> Maybe<&'d Tag> {
    match proxy.property(name) {
        Maybe::Known(property) if property.value.text().is_some_and(|text| text.trim().is_empty()) => Maybe::Absent,
        found => found,
    }
}

/// Whether all traffic of this user or group may bypass Envoy. With root, that would include most apps.
fn can_bypass_envoy(id: &str) -> bool {
    id.parse::<u32>().is_ok_and(|id| id != 0)
}

fn by_user(definition: &TaskDefinition, envoy: &Container, property: &Tag) -> Option<Draft> {
    let ignored = property.value.text()?;
    let place = &envoy.user.place;
    let label = envoy.label();
    let (span, message, fix) = if envoy.user.is_absent() {
        let message = format!("{label} sets no user, but IgnoredUID is {ignored}");
        (place.span, message, Fix::set(place, ignored).filter(|_| can_bypass_envoy(ignored)))
    } else {
        let user = envoy.user.text()?;
        let (uid, group) = user.split_at(user.find(':').unwrap_or(user.len()));
        if uid == ignored || uid.parse::<u32>().is_err() {
            return None;
        }
        let message = format!("{label} runs as user {uid}, but IgnoredUID is {ignored}");
        // If the X-Ray daemon runs as the same user as Envoy, the property is wrong.
        let is_shared = |container: &Container| is_xray_daemon(container) && container.user.text() == Some(uid);
        let fix = if can_bypass_envoy(uid) && definition.containers.items.iter().any(is_shared) {
            Fix::set(&property.value.place, uid)
        } else {
            Fix::set(place, format!("{ignored}{group}")).filter(|_| can_bypass_envoy(ignored))
        };
        (property.value.span(), message, fix)
    };
    let help = "set user of the Envoy container and IgnoredUID to the same number";
    Some(Draft::new(span, message, help).of(envoy).note(envoy.span(), "the Envoy container").fix(fix))
}

fn by_group(envoy: &Container, property: &Tag) -> Option<Draft> {
    let ignored = property.value.text()?;
    // Without a group in the definition, the image determines it.
    let group = envoy.user.text()?.split(':').nth(1)?;
    if ignored == group || group.parse::<u32>().is_err() {
        return None;
    }
    let message = format!("{} runs as group {group}, but IgnoredGID is {ignored}", envoy.label());
    let fix = Fix::set(&property.value.place, group).filter(|_| can_bypass_envoy(group));
    let help = "set the group of the Envoy container and IgnoredGID to the same number";
    Some(Draft::new(property.value.span(), message, help).of(envoy).fix(fix))
}

pub(super) static APPMESH_PROXY_CONFIGURATION: Rule =
    Rule::once_per_task(page!("appmesh-proxy-configuration", in APP_MESH), Applies::AppMesh, check_proxy_configuration);

fn check_proxy_configuration(subject: &Subject<'_>) -> Option<Draft> {
    let mesh = subject.app_mesh.as_ref().filter(|_| subject.definition.proxy.is_absent())?;
    let resource = mesh.resource_of_kind(ResourceKind::VirtualNode)?;
    let envoy = mesh.envoy?;
    let label = envoy.label();
    let node = Text::known(resource.name).shown();
    let message = format!("{label} represents virtual node {node}, but there is no proxy configuration");
    let help = format!("add a proxyConfiguration with containerName {label} and the app's ports");
    Some(Draft::new(envoy.span(), message, help).of(envoy))
}

pub(super) static APPMESH_PROXY_CONTAINER: Rule =
    Rule::once_per_task(page!("appmesh-proxy-container", in APP_MESH), Applies::AppMesh, check_proxy_container);

fn check_proxy_container(subject: &Subject<'_>) -> Option<Draft> {
    let proxy = subject.proxy_configuration()?;
    let name = proxy.container.text();
    if name.is_none() && !proxy.container.is_absent() {
        return None;
    }
    let containers = &subject.definition.containers;
    let envoy = subject.envoy().filter(|envoy| !name.is_some_and(|name| envoy.name.may_be(name)));
    let message = match (name, envoy) {
        (None, _) => "the proxy configuration has no containerName".to_owned(),
        (Some(name), _) if containers.lacks(|it: &Container| it.name.may_be(name)) => {
            format!("the proxy configuration names container {name}, which does not exist")
        }
        (Some(name), Some(_)) => format!("the proxy configuration names container {name}, which is not Envoy"),
        (Some(_), None) => return None,
    };
    let envoy = envoy.and_then(|envoy| envoy.name.text());
    let help = format!("set containerName to {}", envoy.unwrap_or("the Envoy container"));
    let fix = envoy.and_then(|envoy| Fix::set(&proxy.container.place, envoy));
    Some(Draft::new(proxy.container.span(), message, help).fix(fix))
}

pub(super) static APPMESH_PROXY_PORTS: Rule =
    Rule::of_task(page!("appmesh-proxy-ports", in APP_MESH), Applies::AppMesh, check_proxy_ports);

fn check_proxy_ports(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(proxy) = subject.proxy_configuration() else { return };
    for (name, port) in [("ProxyIngressPort", "15000"), ("ProxyEgressPort", "15001")] {
        let message = match proxy.property(name) {
            Maybe::Known(property) => {
                property.value.text().filter(|it| it.trim() != port).map(|it| format!("{name} is {it}"))
            }
            Maybe::Absent => Some(format!("the property {name} is missing")),
            Maybe::Unknown => None,
        };
        findings.extend(message.map(|message| property(proxy, name, port, message)));
    }
}

/// All valid properties.
const PROPERTIES: [&str; 7] = [
    "IgnoredUID",
    "IgnoredGID",
    "AppPorts",
    "ProxyIngressPort",
    "ProxyEgressPort",
    "EgressIgnoredPorts",
    "EgressIgnoredIPs",
];

pub(super) static APPMESH_PROXY_PROPERTY: Rule =
    Rule::of_task(page!("appmesh-proxy-property", in APP_MESH), Applies::AppMesh, check_proxy_property);

fn check_proxy_property(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(proxy) = subject.proxy_configuration() else { return };
    for property in &proxy.properties.items {
        let Some(key) = property.key.text().filter(|key| !PROPERTIES.contains(key)) else { continue };
        let meant = PROPERTIES.iter().find(|known| known.eq_ignore_ascii_case(key));
        let message = format!("the proxy configuration has the unknown property {key}");
        let help = meant.map_or("remove it".to_owned(), |meant| format!("write {meant}"));
        let fix = meant.and_then(|meant| Fix::set(&property.key.place, *meant));
        findings.add(Draft::new(property.key.span(), message, help).fix(fix));
    }
}

pub(super) static APPMESH_PROXY_TYPE: Rule =
    Rule::once_per_task(page!("appmesh-proxy-type", in APP_MESH), Applies::AppMesh, check_proxy_type);

fn check_proxy_type(subject: &Subject<'_>) -> Option<Draft> {
    let proxy = subject.proxy_configuration()?;
    let kind = proxy.kind.text().filter(|kind| *kind != "APPMESH")?;
    let message = format!("the proxy configuration has the type {kind}");
    let draft = Draft::new(proxy.kind.span(), message, "set type to APPMESH");
    Some(draft.fix(Fix::set(&proxy.kind.place, "APPMESH")))
}

pub(super) static APPMESH_APP_DEPENDENCY: Rule =
    Rule::of_task(page!("appmesh-app-dependency", in APP_MESH), Applies::AppMesh, check_app_dependency);

fn check_app_dependency(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mesh) = subject.app_mesh.as_ref() else { return };
    let Some((proxy, envoy)) = mesh.proxied() else { return };
    let Some(name) = envoy.name.text() else { return };
    let (before, after) = (subject.order().before([envoy]), subject.order().after(name, Some("HEALTHY")));
    for app in &mesh.apps {
        let is_ahead = app.name.text().is_some_and(|app| before.may_have(app));
        if is_redirected(app, proxy) && !is_ahead && after.has(app) == Some(false) {
            findings.extend(no_dependency(app, name));
        }
    }
}

/// Whether a container certainly needs the mesh.
fn is_redirected(app: &Container, proxy: &ProxyConfiguration) -> bool {
    let ignored = match proxy.property("IgnoredUID") {
        Maybe::Known(property) => property.value.text(),
        Maybe::Absent | Maybe::Unknown => None,
    };
    let is_ignored = app.user.is_unknown() || (app.user.text().is_some() && app.user.text() == ignored);
    app.is_essential() == Some(true) && !is_ignored && !is_observer(app)
}

fn no_dependency(app: &Container, envoy: &str) -> Option<Draft> {
    let label = app.label();
    let (span, message, fix) = match app.waits_for(envoy) {
        Maybe::Known(dependency) => {
            let condition = &dependency.condition;
            // `ecs-dependency-condition` reports invalid conditions.
            let other = condition.text().filter(|text| matches!(*text, "START" | "COMPLETE" | "SUCCESS"))?;
            let message = format!("{label} waits for the {other} of {envoy}, not until it is healthy");
            (condition.span(), message, Fix::set(&condition.place, "HEALTHY"))
        }
        Maybe::Absent => {
            let dependency = json!({ "containerName": envoy, "condition": "HEALTHY" });
            let message = format!("{label} does not wait for {envoy}");
            (app.depends_on.place.span, message, Fix::append(&app.depends_on, dependency))
        }
        Maybe::Unknown => return None,
    };
    let help = format!("add {envoy} with the condition HEALTHY to dependsOn of {label}");
    Some(Draft::new(span, message, help).of(app).fix(fix))
}

pub(super) static APPMESH_APP_PORT_MAPPING: Rule =
    Rule::once_per_task(page!("appmesh-app-port-mapping", in APP_MESH), Applies::AppMesh, check_app_port_mapping);

fn check_app_port_mapping(subject: &Subject<'_>) -> Option<Draft> {
    let mesh = subject.app_mesh.as_ref()?;
    let Maybe::Known(property) = mesh.proxy?.property("AppPorts") else { return None };
    let listed: Vec<u64> = mesh.proxy?.ports("AppPorts")?.into_iter().map(u64::from).collect();
    let mapped: Vec<RangeInclusive<u64>> = workloads(&mesh.apps).into_iter().flat_map(tcp_ports).collect();
    if listed.is_empty() || mapped.is_empty() {
        return None;
    }
    let is_listed = |ports: &RangeInclusive<u64>| listed.iter().any(|port| ports.contains(port));
    let is_mapped = |port: &u64| mesh.apps.iter().flat_map(|app| tcp_ports(app)).any(|ports| ports.contains(port));
    // An app without port mappings may listen on any port.
    let is_known = |app: &&Container| has_known_ports(app) && !app.port_mappings.items.is_empty();
    let are_ports_known = subject.definition.containers.is_complete && mesh.apps.iter().all(is_known);
    let lacks = mapped.iter().filter(|ports| !is_listed(ports)).map(shown).collect::<Vec<_>>().join(", ");
    let has = listed.iter().filter(|port| are_ports_known && !is_mapped(port)).map(u64::to_string);
    let has = has.collect::<Vec<_>>().join(", ");
    let message = match (lacks.is_empty(), has.is_empty()) {
        (true, true) => return None,
        (false, true) => format!("AppPorts lacks {lacks}, on which the app listens"),
        (true, false) => format!("AppPorts has {has}, which no container maps"),
        (false, false) => format!("AppPorts has {has} and lacks {lacks}, on which the app listens"),
    };
    // AppPorts has no ranges.
    let wanted = if mapped.iter().all(is_single) {
        format!("set AppPorts to {}", mapped.iter().map(shown).collect::<Vec<_>>().join(","))
    } else {
        "list each port of the app in AppPorts".to_owned()
    };
    let help = format!("{wanted}, or correct the portMappings");
    Some(Draft::new(property.value.span(), message, help))
}
