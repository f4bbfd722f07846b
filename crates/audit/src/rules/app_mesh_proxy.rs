//! App Mesh: the proxy configuration.

use serde_json::json;

use super::pages;
use crate::{
    example::Base,
    finding::{Draft, Findings, Fix},
    rule::{Applies, Rule},
    subject::{AppMeshTask, Subject, is_xray_daemon},
};
use audit_read::{
    app_mesh::ResourceKind,
    definition::{Container, Maybe, ProxyConfiguration, Tag, TaskDefinition},
};

pub(super) static APPMESH_APP_PORTS: Rule = Rule {
    id: "appmesh-app-ports",
    summary: "AppPorts lists the ports of the app",
    effect: "ECS refuses the definition, or no incoming connection goes through Envoy",
    explanation: "\
`AppPorts` contains the ports of the app whose incoming connections are redirected to Envoy, separated by commas. ECS \
requires it.",
    sources: &[pages::ECS_PROXY_CONFIGURATION, pages::APP_MESH_ON_ECS],
    example: Some(
        Base::AppMesh.missing("proxyConfiguration.properties[AppPorts]", r#"{ "name": "AppPorts", "value": "9080" }"#),
    ),
    ..Rule::of_task(Applies::AppMesh, check_app_ports)
};

fn check_app_ports(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(proxy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.proxy) else { return };
    let (span, message) = match (proxy.property("AppPorts"), proxy.items("AppPorts")) {
        (Maybe::Absent, _) => (proxy.properties.place.span, "the property AppPorts is missing".to_owned()),
        (Maybe::Known(property), Some(items)) if items.is_empty() => {
            (property.value.span(), "AppPorts lists no port".to_owned())
        }
        (Maybe::Known(property), Some(items)) if proxy.ports("AppPorts").is_none() => {
            (property.value.span(), format!("AppPorts is {}, which is not a list of ports", items.join(",")))
        }
        _ => return,
    };
    findings.add(Draft::new(span, message, "set AppPorts to the ports that the app listens on, separated by commas"));
}

/// The endpoint of task metadata and credentials, and the one of instance metadata.
const ENDPOINTS: [&str; 2] = ["169.254.170.2", "169.254.169.254"];

pub(super) static APPMESH_EGRESS_IGNORED_IPS: Rule = Rule {
    id: "appmesh-egress-ignored-ips",
    summary: "traffic to the metadata endpoints is not redirected",
    is_fixable: true,
    effect: "Envoy and the app get no credentials and no task metadata, and Envoy cannot fetch its configuration",
    explanation: "\
169.254.170.2 is the endpoint of the task role's credentials and the task metadata, 169.254.169.254 is the metadata \
service of the instance. Neither is part of the mesh: Envoy cannot forward connections to them. Both have to be in \
`EgressIgnoredIPs`.",
    sources: &[pages::APP_MESH_ON_ECS, pages::ECS_PROXY_CONFIGURATION],
    example: Some(Base::AppMesh.missing(
        "proxyConfiguration.properties[EgressIgnoredIPs]",
        r#"{ "name": "EgressIgnoredIPs", "value": "169.254.170.2,169.254.169.254" }"#,
    )),
    ..Rule::of_task(Applies::AppMesh, check_egress_ignored_ips)
};

fn check_egress_ignored_ips(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(proxy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.proxy) else { return };
    let property = proxy.property("EgressIgnoredIPs");
    let (listed, span) = match (&property, proxy.items("EgressIgnoredIPs")) {
        (Maybe::Known(property), Some(items)) => (items, property.value.span()),
        (Maybe::Absent, _) => (Vec::new(), proxy.properties.place.span),
        _ => return,
    };
    // A range may contain them.
    let missing: Vec<&str> = ENDPOINTS.into_iter().filter(|endpoint| !listed.contains(endpoint)).collect();
    if missing.is_empty() || listed.iter().any(|item| item.contains('/')) {
        return;
    }
    let all: Vec<&str> = listed.into_iter().chain(missing.iter().copied()).collect();
    let all = all.join(",");
    let fix = match property {
        Maybe::Known(property) => Fix::set(&property.value.place, all.as_str()),
        _ => Fix::append(&proxy.properties, json!({ "name": "EgressIgnoredIPs", "value": all })),
    };
    let message = format!("EgressIgnoredIPs lacks {}", missing.join(" and "));
    findings.add(Draft::new(span, message, format!("set EgressIgnoredIPs to {all}")).fix(fix));
}

pub(super) static APPMESH_EGRESS_IGNORED_PORTS: Rule = Rule {
    id: "appmesh-egress-ignored-ports",
    summary: "EgressIgnoredPorts is a list of ports",
    effect: "the redirection cannot be set up, and the task fails to start",
    explanation: "\
`EgressIgnoredPorts` contains the destination ports of connections that bypass Envoy, separated by commas, such as \
`22` or `5432,6379`. It may be empty. Names of services and ranges are invalid.",
    sources: &[pages::ECS_PROXY_CONFIGURATION],
    example: Some(Base::AppMesh.wrong(
        "proxyConfiguration.properties[EgressIgnoredPorts]",
        r#"{ "name": "EgressIgnoredPorts", "value": "ssh" }"#,
        r#"{ "name": "EgressIgnoredPorts", "value": "22,5432" }"#,
    )),
    ..Rule::of_task(Applies::AppMesh, check_egress_ignored_ports)
};

fn check_egress_ignored_ports(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(proxy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.proxy) else { return };
    let Maybe::Known(property) = proxy.property("EgressIgnoredPorts") else { return };
    let Some(items) = proxy.items("EgressIgnoredPorts") else { return };
    if proxy.ports("EgressIgnoredPorts").is_none() {
        let message = format!("EgressIgnoredPorts is {}, which is not a list of ports", items.join(","));
        findings.add(Draft::new(property.value.span(), message, "use ports from 1 to 65535, separated by commas"));
    }
}

pub(super) static APPMESH_IGNORED_USER: Rule = Rule {
    id: "appmesh-ignored-user",
    summary: "Envoy runs as the user whose traffic is not redirected",
    is_fixable: true,
    effect: "Envoy's own traffic is redirected to Envoy again, and no connection leaves the task",
    explanation: "\
Envoy's own traffic must not be redirected. `IgnoredUID` is the user whose traffic is excluded, and has to be the \
number in `user` of the Envoy container; the examples use 1337. `IgnoredGID` does the same with a group.",
    sources: &[pages::APP_MESH_ON_ECS, pages::ECS_PROXY_CONFIGURATION],
    example: Some(Base::AppMesh.wrong("proxyConfiguration.properties[IgnoredUID].value", r#""1338""#, r#""1337""#)),
    ..Rule::of_task(Applies::AppMesh, check_ignored_user)
};

fn check_ignored_user(subject: &Subject<'_>, findings: &mut Findings) {
    let Some((proxy, envoy)) = subject.app_mesh.as_ref().and_then(AppMeshTask::proxied) else { return };
    match (value(proxy, "IgnoredUID"), value(proxy, "IgnoredGID")) {
        (Maybe::Known(uid), _) => by_user(subject.definition, envoy, uid, findings),
        (Maybe::Absent, Maybe::Known(gid)) => by_group(envoy, gid, findings),
        (Maybe::Absent, Maybe::Absent) => {
            let user = envoy.user.text().filter(|user| can_be_let_out(user));
            let fix =
                user.and_then(|user| Fix::append(&proxy.properties, json!({ "name": "IgnoredUID", "value": user })));
            let message = format!("neither IgnoredUID nor IgnoredGID lets {} out", envoy.label());
            let help = "add the property IgnoredUID with the user that the Envoy container runs as";
            findings.add(Draft::new(proxy.properties.place.span, message, help).fix(fix));
        }
        (Maybe::Unknown, _) | (_, Maybe::Unknown) => {}
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
fn can_be_let_out(id: &str) -> bool {
    id.parse::<u32>().is_ok_and(|id| id != 0)
}

fn by_user(definition: &TaskDefinition, envoy: &Container, property: &Tag, findings: &mut Findings) {
    let Some(ignored) = property.value.text() else { return };
    let place = &envoy.user.place;
    let label = envoy.label();
    let (span, message, fix) = match (envoy.user.text(), envoy.user.is_absent()) {
        (None, true) => {
            let message = format!("{label} sets no user, but the user whose traffic is not redirected is {ignored}");
            (place.span, message, Fix::set(place, ignored).filter(|_| can_be_let_out(ignored)))
        }
        (Some(user), _) => {
            let (uid, group) = user.split_at(user.find(':').unwrap_or(user.len()));
            if uid == ignored || uid.parse::<u32>().is_err() {
                return;
            }
            let message = format!("{label} runs as the user {uid}, but IgnoredUID is {ignored}");
            // If the X-Ray daemon runs as the same user as Envoy, the property is wrong.
            let is_shared = |container: &Container| is_xray_daemon(container) && container.user.text() == Some(uid);
            let fix = if can_be_let_out(uid) && definition.containers.items.iter().any(is_shared) {
                Fix::set(&property.value.place, uid)
            } else {
                Fix::set(place, format!("{ignored}{group}")).filter(|_| can_be_let_out(ignored))
            };
            (property.value.span(), message, fix)
        }
        (None, false) => return,
    };
    let help = "set user of the Envoy container and IgnoredUID to the same number";
    findings.add(Draft::new(span, message, help).of(envoy).note(envoy.span(), "the Envoy container").fix(fix));
}

fn by_group(envoy: &Container, property: &Tag, findings: &mut Findings) {
    // Without a group in the definition, the image determines it.
    let group = envoy.user.text().and_then(|user| user.split(':').nth(1));
    if let (Some(ignored), Some(group)) = (property.value.text(), group)
        && ignored != group
        && group.parse::<u32>().is_ok()
    {
        let message = format!("{} runs as the group {group}, but IgnoredGID is {ignored}", envoy.label());
        let fix = Fix::set(&property.value.place, group).filter(|_| can_be_let_out(group));
        let help = "set the group of the Envoy container and IgnoredGID to the same number";
        findings.add(Draft::new(property.value.span(), message, help).of(envoy).fix(fix));
    }
}

pub(super) static APPMESH_PROXY_CONFIGURATION: Rule = Rule {
    id: "appmesh-proxy-configuration",
    summary: "the task of a virtual node has a proxy configuration",
    effect: "no traffic is redirected to Envoy, so that the app bypasses the mesh in both directions",
    explanation: "\
The traffic of a task goes through Envoy only if ECS redirects it, which it does for a definition with a \
`proxyConfiguration`. Without one, the task runs and may be healthy, but routes, retries, TLS and metrics of the mesh \
do not apply to it. Only the Envoy of a virtual gateway, to which clients connect directly, needs none.",
    sources: &[pages::APP_MESH_ON_ECS, pages::ECS_PROXY_CONFIGURATION],
    example: Some(Base::AppMesh.missing("proxyConfiguration", r#"{ "type": "APPMESH", "containerName": "envoy", "properties": [{ "name": "IgnoredUID", "value": "1337" }, { "name": "ProxyIngressPort", "value": "15000" }, { "name": "ProxyEgressPort", "value": "15001" }, { "name": "AppPorts", "value": "9080" }, { "name": "EgressIgnoredIPs", "value": "169.254.170.2,169.254.169.254" }] }"#)),
    ..Rule::of_task(Applies::AppMesh, check_proxy_configuration)
};

fn check_proxy_configuration(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mesh) = subject.app_mesh.as_ref().filter(|_| subject.definition.proxy.is_absent()) else { return };
    let (Some(envoy), Some(resource)) = (mesh.envoy, mesh.resource()) else { return };
    if resource.kind == ResourceKind::VirtualNode {
        let message = format!(
            "{} represents the virtual node {}, but there is no proxy configuration",
            envoy.label(),
            resource.name
        );
        let help = format!("add a proxyConfiguration with containerName {} and the app's ports", envoy.label());
        findings.add(Draft::new(envoy.span(), message, help).of(envoy));
    }
}

pub(super) static APPMESH_PROXY_CONTAINER: Rule = Rule {
    id: "appmesh-proxy-container",
    summary: "the proxy configuration names the Envoy container",
    is_fixable: true,
    effect: "ECS refuses the definition, or redirects the traffic to a container that is not a proxy",
    explanation: "\
`containerName` of the proxy configuration is the name of the proxy's container. ECS starts it before it redirects the \
traffic of the others.",
    sources: &[pages::ECS_PROXY_CONFIGURATION, pages::APP_MESH_ON_ECS],
    example: Some(Base::AppMesh.wrong("proxyConfiguration.containerName", r#""proxy""#, r#""envoy""#)),
    ..Rule::of_task(Applies::AppMesh, check_proxy_container)
};

fn check_proxy_container(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mesh) = subject.app_mesh.as_ref() else { return };
    let Some(proxy) = mesh.proxy.filter(|proxy| !proxy.container.is_unknown()) else { return };
    let name = proxy.container.text();
    if name.is_none() && !proxy.container.is_absent() {
        return;
    }
    let containers = &subject.definition.containers;
    let envoy = mesh.envoy.filter(|envoy| !name.is_some_and(|name| envoy.name.may_be(name)));
    let message = match (name, envoy) {
        (None, _) => "the proxy configuration has no containerName".to_owned(),
        (Some(name), _) if containers.lacks(|it: &Container| it.name.may_be(name)) => {
            format!("the proxy configuration refers to {name}, which does not exist")
        }
        (Some(name), Some(_)) => format!("the proxy configuration refers to {name}, which is not the Envoy container"),
        (Some(_), None) => return,
    };
    let envoy = envoy.and_then(|envoy| envoy.name.text());
    let help = envoy
        .map_or("set containerName to the Envoy container".to_owned(), |envoy| format!("set containerName to {envoy}"));
    let fix = envoy.and_then(|envoy| Fix::set(&proxy.container.place, envoy));
    findings.add(Draft::new(proxy.container.span(), message, help).fix(fix));
}

pub(super) static APPMESH_PROXY_PORTS: Rule = Rule {
    id: "appmesh-proxy-ports",
    summary: "traffic is redirected to the ports 15000 and 15001",
    is_fixable: true,
    effect: "traffic is redirected to a port on which Envoy does not listen, and every connection of the app fails",
    explanation: "\
App Mesh configures Envoy to accept incoming connections on port 15000 and outgoing connections of the app on port \
15001. ECS redirects to `ProxyIngressPort` and `ProxyEgressPort`, which have to be the same.",
    sources: &[pages::APP_MESH_ON_ECS, pages::ECS_PROXY_CONFIGURATION],
    example: Some(Base::AppMesh.wrong(
        "proxyConfiguration.properties[ProxyIngressPort].value",
        r#""15001""#,
        r#""15000""#,
    )),
    ..Rule::of_task(Applies::AppMesh, check_proxy_ports)
};

fn check_proxy_ports(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(proxy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.proxy) else { return };
    for (name, port) in [("ProxyIngressPort", "15000"), ("ProxyEgressPort", "15001")] {
        let (place, message, fix) = match proxy.property(name) {
            Maybe::Known(property) => {
                let Some(other) = property.value.text().filter(|value| value.trim() != port) else { continue };
                let place = &property.value.place;
                (place, format!("{name} is {other}"), Fix::set(place, port))
            }
            Maybe::Absent => {
                let fix = Fix::append(&proxy.properties, json!({ "name": name, "value": port }));
                (&proxy.properties.place, format!("the property {name} is missing"), fix)
            }
            Maybe::Unknown => continue,
        };
        findings.add(Draft::new(place.span, message, format!("set {name} to {port}")).fix(fix));
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

pub(super) static APPMESH_PROXY_PROPERTY: Rule = Rule {
    id: "appmesh-proxy-property",
    summary: "the proxy configuration has known properties only",
    is_fixable: true,
    effect: "the property is refused or has no effect, and the intended one is missing",
    explanation: "\
The names of the properties are `IgnoredUID`, `IgnoredGID`, `AppPorts`, `ProxyIngressPort`, `ProxyEgressPort`, \
`EgressIgnoredPorts` and `EgressIgnoredIPs`. They are case-sensitive.",
    sources: &[pages::ECS_PROXY_CONFIGURATION],
    example: Some(Base::AppMesh.wrong(
        "proxyConfiguration.properties[AppPorts].name",
        r#""appPorts""#,
        r#""AppPorts""#,
    )),
    ..Rule::of_task(Applies::AppMesh, check_proxy_property)
};

fn check_proxy_property(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(proxy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.proxy) else { return };
    for property in &proxy.properties.items {
        let Some(key) = property.key.text().filter(|key| !PROPERTIES.contains(key)) else { continue };
        let meant = PROPERTIES.iter().find(|known| known.eq_ignore_ascii_case(key));
        let message = format!("the proxy configuration has the unknown property {key}");
        let help = meant.map_or("remove it".to_owned(), |meant| format!("write {meant}"));
        let fix = meant.and_then(|meant| Fix::set(&property.key.place, *meant));
        findings.add(Draft::new(property.key.span(), message, help).fix(fix));
    }
}

pub(super) static APPMESH_PROXY_TYPE: Rule = Rule {
    id: "appmesh-proxy-type",
    summary: "the proxy configuration has the type APPMESH",
    is_fixable: true,
    effect: "ECS refuses to register the definition",
    explanation: "\
`APPMESH` is the only type of proxy configuration, and the default. It has to be in capitals.",
    sources: &[pages::ECS_PROXY_CONFIGURATION],
    example: Some(Base::AppMesh.wrong("proxyConfiguration.type", r#""ENVOY""#, r#""APPMESH""#)),
    ..Rule::of_task(Applies::AppMesh, check_proxy_type)
};

fn check_proxy_type(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(proxy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.proxy) else { return };
    let Some(kind) = proxy.kind.text().filter(|kind| *kind != "APPMESH") else { return };
    let message = format!("the proxy configuration has the type {kind}");
    findings
        .add(Draft::new(proxy.kind.span(), message, "set type to APPMESH").fix(Fix::set(&proxy.kind.place, "APPMESH")));
}
