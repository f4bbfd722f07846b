//! App Mesh: the end of the service, and the resources of a mesh: virtual nodes and virtual services.

use std::{collections::BTreeSet, net::IpAddr};

use super::{prelude::*, service::shown};
use crate::{
    rule::{ResourceFindings, TaskFindings},
    subject::MeshResource,
};
use audit_read::{
    app_mesh::{Presence, Reference, Resource, ResourceKind, Resources},
    definition::PortMapping,
};
use document::{Node, Span, Value};

pub(super) static APPMESH_END_OF_SERVICE: Rule =
    Rule::of_task(page!("appmesh-end-of-service", in APP_MESH), Applies::AppMesh, check_end_of_service);

fn check_end_of_service(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    let span = if definition.proxy.is_absent() {
        subject.envoy().map_or(definition.span(), Container::span)
    } else {
        definition.proxy.span()
    };
    let message = "this task definition depends on App Mesh, which ended on 2026-09-30";
    findings.add(Draft::new(span, message, "move to Consul on ECS (ecs-mesh inject) or to ECS Service Connect"));
}

pub(super) static APPMESH_MESH_END_OF_SERVICE: Rule =
    Rule::of_resources(page!("appmesh-mesh-end-of-service", in APP_MESH), check_mesh_end_of_service);

fn check_mesh_end_of_service(resources: &Resources, subjects: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    if subjects.iter().any(|subject| subject.app_mesh.is_some()) {
        return;
    }
    let mut meshes = BTreeSet::new();
    for resource in resources.all().iter().filter(|resource| meshes.insert(resource.mesh.whole())) {
        let mesh = resource.mesh.whole().map_or_else(|| "the mesh".to_owned(), |name| format!("mesh {name}"));
        let message = format!("{mesh} is a mesh of App Mesh, which ended on 2026-09-30");
        let help = "move its services to Consul on ECS (ecs-mesh inject) or to ECS Service Connect";
        findings(resource, Draft::new(resource.span, message, help));
    }
}

/// The kinds of resource that an Envoy represents.
const WITH_ENVOY: &[ResourceKind] = &[ResourceKind::VirtualNode, ResourceKind::VirtualGateway];

pub(super) static APPMESH_ACCESS_LOG: Rule =
    Rule::once_per_resource(page!("appmesh-access-log", in APP_MESH), WITH_ENVOY, check_access_log);

fn check_access_log(_: &Resources, resource: &Resource) -> Option<Draft> {
    let node = resource.spec("logging.accessLog.file.path")?;
    let path = node.text().filter(|path| !path.starts_with('/'))?;
    let message = format!("{} writes its access log to {path}", resource.label());
    Some(Draft::new(node.place.span, message, "write it to /dev/stdout"))
}

pub(super) static APPMESH_BACKEND_MISSING: Rule =
    Rule::of_resources(page!("appmesh-backend-missing", in APP_MESH), check_backend_missing);

fn check_backend_missing(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    report_missing(resources, &[ResourceKind::VirtualNode], "has as backend", |_, _| true, findings);
}

/// Reports references from resources of some kinds to resources that do not exist.
pub(super) fn report_missing(
    resources: &Resources,
    kinds: &[ResourceKind],
    verb: &str,
    is_meant: fn(&Resource, &Reference<'_>) -> bool,
    findings: &mut ResourceFindings<'_>,
) {
    for (resource, mesh, reference) in kinds.iter().flat_map(|kind| resources.broken_references(*kind)) {
        if is_meant(resource, &reference) {
            let (label, kind, name) = (resource.label(), reference.kind.as_str(), reference.name);
            let message = format!("{label} {verb} {kind} {name}, which does not exist");
            let help = format!("use one of {}, or create it", resources.names(reference.kind, mesh));
            findings(resource, Draft::new(reference.node.place.span, message, help));
        }
    }
}

pub(super) static APPMESH_PROVIDER_MISSING: Rule =
    Rule::of_resources(page!("appmesh-provider-missing", in APP_MESH), check_provider_missing);

fn check_provider_missing(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    report_missing(resources, &[ResourceKind::VirtualService], "is provided by", |_, _| true, findings);
}

pub(super) static APPMESH_DEFINITION_RESOURCE: Rule = Rule::of_tasks(
    page!("appmesh-definition-resource", in APP_MESH),
    Applies::AppMeshResources,
    check_definition_resource,
);

fn check_definition_resource(subjects: &[Subject<'_>], resources: &Resources, findings: &mut TaskFindings<'_>) {
    for subject in subjects {
        let Some(mesh) = subject.app_mesh.as_ref() else { continue };
        let (Some(variable), Some(resource)) = (mesh.resource_variable(), mesh.resource()) else { continue };
        let MeshResource { mesh: name, kind, name: target } = resource;
        let meshes = exported_meshes(resources);
        // Other resources of the mesh show that it exists, even if it was not exported itself.
        let is_known = resources.is_partial || resources.all().iter().any(|resource| resource.mesh.may_be(name));
        let (message, help) = if !is_known && !meshes.is_empty() {
            let message = format!("Envoy represents a resource of mesh {name}, which does not exist");
            (message, format!("use mesh {}", meshes.join(" or ")))
        } else if resources.lacks(kind, name, target) {
            let message = format!("Envoy represents {} {target}, which mesh {name} does not have", kind.as_str());
            (message, format!("use one of {}, or create it", resources.names(kind, name)))
        } else {
            continue;
        };
        findings(subject, Draft::new(variable.value.span(), message, help));
    }
}

/// Templates create only some of the meshes that exist.
fn exported_meshes(resources: &Resources) -> Vec<&str> {
    let meshes = resources.of(ResourceKind::Mesh).filter(|mesh| mesh.presence == Presence::Exported);
    meshes.filter_map(|mesh| mesh.name.whole()).collect()
}

pub(super) static APPMESH_HEALTH_CHECK: Rule =
    Rule::of_resources(page!("appmesh-health-check", in APP_MESH), check_health_check);

fn check_health_check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for resource in WITH_ENVOY.iter().flat_map(|kind| resources.of(*kind)) {
        for listener in resource.spec("listeners").map(Node::items).unwrap_or_default() {
            let Some(check) = listener.get("healthCheck") else { continue };
            // If a value is out of its range, its relation to others is not reported.
            let late = late(check).filter(|_| resource.departures.is_empty());
            for (span, wrong, help) in late.into_iter().chain(path(check)).chain(other_port(listener, check)) {
                let message = format!("the health check of {} {wrong}", resource.label());
                findings(resource, Draft::new(span, message, help));
            }
        }
    }
}

type Defect = (Span, String, String);

/// The health check must use the port of the listener.
fn other_port(listener: &Node, check: &Node) -> Option<Defect> {
    let node = check.get("port")?;
    let (checked, port): (i64, i64) = (node.number()?, listener.get("portMapping")?.get("port")?.number()?);
    let wrong = format!("connects to port {checked}, but the listener is on {port}");
    (checked != port).then(|| (node.place.span, wrong, "give both the same port".to_owned()))
}

fn late(check: &Node) -> Option<Defect> {
    let node = check.get("timeoutMillis")?;
    let (timeout, interval): (i64, i64) = (node.number()?, check.get("intervalMillis")?.number()?);
    let wrong = format!("may take {timeout} ms, but runs every {interval} ms");
    (timeout >= interval).then(|| (node.place.span, wrong, "make the timeout shorter than the interval".to_owned()))
}

fn path(check: &Node) -> Option<Defect> {
    let protocol = check.get("protocol")?;
    let name = protocol.text()?;
    match (check.get("path"), matches!(name, "http" | "http2")) {
        (None, true) => {
            let wrong = format!("is over {name} and has no path");
            Some((protocol.place.span, wrong, "add a path, such as /health".to_owned()))
        }
        (Some(path), false) if !matches!(path.value, Value::Unknown) => {
            let wrong = format!("is over {name} and has a path, which is ignored");
            Some((path.place.span, wrong, "remove the path, or check over http".to_owned()))
        }
        _ => None,
    }
}

pub(super) static APPMESH_LISTENER_APP_PORT: Rule =
    Rule::of_resources(page!("appmesh-listener-app-port", in APP_MESH), check_listener_app_port);

fn check_listener_app_port(resources: &Resources, subjects: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for subject in subjects {
        for (listener, gateway, mapped) in unmapped(resources, subject) {
            let (label, definition) = (gateway.label(), subject.definition.label());
            let port = listener.as_text().unwrap_or_default();
            let message = format!("{label} listens on {port}, but Envoy of {definition} maps {mapped}");
            let help = format!("let it listen on {mapped}, or map {port}");
            findings(gateway, Draft::new(listener.place.span, message, help));
        }
        let Some((ports, node)) = ports_and_node(resources, subject) else { continue };
        for listener in node.listeners().filter_map(|mapping| mapping.get("port")) {
            let Some(port) = listener.number().filter(|port| !ports.contains(port)) else { continue };
            let listed = ports.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
            let (label, definition) = (node.label(), subject.definition.label());
            let message = format!("{label} listens on {port}, but AppPorts of {definition} are {listed}");
            let help = format!("let it listen on one of {listed}, or add {port} to AppPorts and the app");
            findings(node, Draft::new(listener.place.span, message, help));
        }
    }
}

/// The ports of a virtual gateway's listeners that its Envoy does not map, with the ports that it maps.
fn unmapped<'r>(resources: &'r Resources, subject: &Subject<'_>) -> Vec<(&'r Node, &'r Resource, String)> {
    let of_gateway = || {
        let MeshResource { mesh, kind, name } = subject.app_mesh.as_ref()?.resource()?;
        let gateway = resources.named(kind, mesh, name, &subject.definition.file);
        let gateway = gateway.filter(|_| kind == ResourceKind::VirtualGateway)?;
        let mappings = &subject.envoy()?.port_mappings;
        let ports = mappings.items.iter().map(PortMapping::ports).collect::<Option<Vec<_>>>()?;
        (mappings.is_complete && !ports.is_empty()).then_some((gateway, ports))
    };
    let Some((gateway, ports)) = of_gateway() else { return Vec::new() };
    let is_mapped = |port: i64| ports.iter().any(|mapped| u64::try_from(port).is_ok_and(|port| mapped.contains(&port)));
    let shown = ports.iter().map(shown).collect::<Vec<_>>().join(", ");
    let listened = gateway.listeners().filter_map(|mapping| mapping.get("port"));
    let unmapped = listened.filter(|port| port.number().is_some_and(|port| !is_mapped(port)));
    unmapped.map(|port| (port, gateway, shown.clone())).collect()
}

/// The `AppPorts` of a definition, and the virtual node that its Envoy represents.
fn ports_and_node<'r>(resources: &'r Resources, subject: &Subject<'_>) -> Option<(Vec<i64>, &'r Resource)> {
    let ports = subject.proxy_configuration()?.ports("AppPorts").filter(|ports| !ports.is_empty())?;
    let MeshResource { mesh, kind, name } = subject.app_mesh.as_ref()?.resource()?;
    let node = resources.named(kind, mesh, name, &subject.definition.file);
    let node = node.filter(|_| kind == ResourceKind::VirtualNode)?;
    Some((ports.into_iter().map(i64::from).collect(), node))
}

pub(super) static APPMESH_OTHER_MESH: Rule =
    Rule::of_resources(page!("appmesh-other-mesh", in APP_MESH), check_other_mesh);

fn check_other_mesh(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for (resource, mesh, Reference { kind, name, node }) in resources.references() {
        let other = resources.other_mesh_with(kind, mesh, name);
        let Some(other) = other.filter(|_| resources.lacks(kind, mesh, name)) else { continue };
        let (label, kind) = (resource.label(), kind.as_str());
        let message = format!("{label} of mesh {mesh} refers to {kind} {name}, which is in mesh {other}");
        let help = format!("create {kind} {name} in {mesh}, or use an existing one");
        findings(resource, Draft::new(node.place.span, message, help));
    }
}

pub(super) static APPMESH_SERVICE_DISCOVERY: Rule = Rule::once_per_resource(
    page!("appmesh-service-discovery", in APP_MESH),
    &[ResourceKind::VirtualNode],
    check_service_discovery,
);

fn check_service_discovery(_: &Resources, node: &Resource) -> Option<Draft> {
    let is_missing = node.listeners().next().is_some() && node.spec("serviceDiscovery").is_none();
    let message = format!("{} has a listener, but no service discovery", node.label());
    let help = "add serviceDiscovery with the DNS name or the Cloud Map service of the ECS service";
    is_missing.then(|| Draft::new(node.span, message, help))
}

pub(super) static APPMESH_VIRTUAL_SERVICE_NAME: Rule = Rule::once_per_resource(
    page!("appmesh-virtual-service-name", in APP_MESH),
    &[ResourceKind::VirtualService],
    check_virtual_service_name,
);

fn check_virtual_service_name(_: &Resources, service: &Resource) -> Option<Draft> {
    let name = service.name.whole().filter(|name| is_loopback(name))?;
    let message = format!("virtual service {name} resolves to the caller's own task");
    let help = "name it after the service discovery name of the real service, such as orders.shop.local";
    Some(Draft::new(service.span, message, help))
}

fn is_loopback(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_lowercase();
    let is_address = name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    name == "localhost" || name.ends_with(".localhost") || is_address
}
