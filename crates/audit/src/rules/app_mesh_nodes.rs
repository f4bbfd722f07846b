//! App Mesh's resources: meshes, virtual nodes and virtual services.

use std::{collections::BTreeSet, ops::RangeInclusive};

use super::pages;
use crate::{
    example::Base,
    finding::{Draft, Severity},
    rule::{Applies, ResourceFindings, Rule, TaskFindings},
    subject::{MeshResource, Subject},
};
use audit_read::{
    app_mesh::{Presence, Reference, Resource, ResourceKind, Resources},
    document::{Node, Span, Value},
};

pub(super) static APPMESH_ACCESS_LOG: Rule = Rule {
    id: "appmesh-access-log",
    summary: "access logs go to an absolute path",
    severity: Severity::Warning,
    effect: "Envoy cannot open the file, or writes a file that is not collected",
    explanation: "\
Envoy writes access logs to a file in its container. `/dev/stdout` is the log driver of the container, which ECS can \
collect; a file at any other path has to be collected by another process. A relative path depends on the directory in \
which the image starts Envoy.",
    sources: &["https://docs.aws.amazon.com/app-mesh/latest/userguide/envoy-logs.html", pages::APP_MESH_VIRTUAL_NODES],
    example: Some(Base::AppMeshResources.wrong(
        "[virtualNode orders].virtualNode.spec.logging.accessLog.file.path",
        r#""stdout""#,
        r#""/dev/stdout""#,
    )),
    ..Rule::of_resources(check_access_log)
};

fn check_access_log(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for kind in [ResourceKind::VirtualNode, ResourceKind::VirtualGateway] {
        for resource in resources.of(kind) {
            let path = resource.spec("logging.accessLog.file.path");
            let Some((node, path)) = path.and_then(|node| Some((node, node.text()?))) else { continue };
            if !path.starts_with('/') {
                let message = format!("{} writes its access log to {path}", resource.label());
                findings(resource, Draft::new(node.place.span, message, "write it to /dev/stdout"));
            }
        }
    }
}

pub(super) static APPMESH_BACKEND_MISSING: Rule = Rule {
    id: "appmesh-backend-missing",
    summary: "the backends of a virtual node exist as virtual services",
    effect: "Envoy gets no route to the backend, and the app's requests to it are dropped or leave the mesh",
    explanation: "\
The backends of a virtual node are the virtual services that its app calls, by their full names. The node's Envoy is \
configured for these only. A misspelled backend is a service that the app cannot reach: with the egress filter \
`DROP_ALL` not at all, otherwise only outside of the mesh.",
    sources: &[pages::APP_MESH_VIRTUAL_NODES],
    example: Some(Base::AppMeshResources.wrong(
        "[virtualNode orders].virtualNode.spec.backends",
        r#"[{ "virtualService": { "virtualServiceName": "stock.local" } }]"#,
        r#"[{ "virtualService": { "virtualServiceName": "stock.shop.local" } }]"#,
    )),
    ..Rule::of_resources(check_backend_missing)
};

fn check_backend_missing(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for (resource, mesh, reference) in resources.broken_references(ResourceKind::VirtualNode) {
        let kind = reference.kind.as_str();
        let message =
            format!("{} has as backend the {kind} {}, which does not exist", resource.label(), reference.name);
        let help = format!("use one of {}, or create it", resources.names(reference.kind, mesh));
        findings(resource, Draft::new(reference.node.place.span, message, help));
    }
}

pub(super) static APPMESH_DEFINITION_RESOURCE: Rule = Rule {
    id: "appmesh-definition-resource",
    summary: "the resource that Envoy represents exists in the mesh",
    effect: "App Mesh has no configuration for this Envoy, which never becomes healthy",
    explanation: "\
A task definition refers to a mesh by the name of a virtual node or virtual gateway in a variable of the Envoy \
container. An unknown mesh, node or gateway is usually misspelled, or of another environment. It is reported as \
missing only if the run has an export of another resource of that kind of the same mesh, or of meshes but not this \
one, or if the templates of the run create the mesh and other resources of that kind. Nothing is reported as missing if \
part of the input could not be read.",
    sources: &[pages::APP_MESH_ENVOY_VARIABLES, pages::APP_MESH_VIRTUAL_NODES],
    example: Some(
        Base::AppMeshResources
            .wrong(
                "[7].containerDefinitions[envoy].environment[APPMESH_RESOURCE_ARN].value",
                r#""mesh/shop/virtualNode/order""#,
                r#""mesh/shop/virtualNode/orders""#,
            )
            .given(&[("[definition]", include_str!("../bases/app-mesh.json"))]),
    ),
    ..Rule::of_tasks(Applies::AppMeshResources, check_definition_resource)
};

fn check_definition_resource(subjects: &[Subject<'_>], resources: &Resources, findings: &mut TaskFindings<'_>) {
    for subject in subjects {
        let Some(mesh) = subject.app_mesh.as_ref() else { continue };
        let (Some(variable), Some(resource)) = (mesh.resource_variable(), mesh.resource()) else { continue };
        let MeshResource { mesh: name, kind, name: target } = resource;
        let meshes = exported_meshes(resources);
        // Other resources of the mesh show that it exists, even if it was not exported itself.
        let is_known = resources.is_partial || resources.all.iter().any(|resource| resource.mesh.may_be(name));
        let (message, help) = if !is_known && !meshes.is_empty() {
            (
                format!("Envoy represents a resource of the mesh {name}, which does not exist"),
                format!("use the mesh {}", meshes.join(" or ")),
            )
        } else if resources.lacks(kind, name, target) {
            let message =
                format!("Envoy represents the {} {target}, which the mesh {name} does not have", kind.as_str());
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

/// The ranges that App Mesh accepts.
const RANGES: [(&str, RangeInclusive<i64>); 4] = [
    ("healthyThreshold", 2..=10),
    ("unhealthyThreshold", 2..=10),
    ("intervalMillis", 5000..=300_000),
    ("timeoutMillis", 2000..=60_000),
];

pub(super) static APPMESH_HEALTH_CHECK: Rule = Rule {
    id: "appmesh-health-check",
    summary: "App Mesh accepts the health check of a listener",
    effect: "App Mesh refuses the virtual node, or the check checks something else",
    explanation: "\
A health check of a virtual node has thresholds of 2 to 10, an interval of 5000 to 300000 milliseconds and a timeout \
of 2000 to 60000 milliseconds, shorter than the interval. A check over HTTP or HTTP/2 needs a path; one over TCP or \
gRPC has none.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/APIReference/API_HealthCheckPolicy.html",
        pages::APP_MESH_VIRTUAL_NODES,
    ],
    example: Some(
        Base::AppMeshResources
            .missing("[virtualNode orders].virtualNode.spec.listeners[0].healthCheck.path", r#""/health""#),
    ),
    ..Rule::of_resources(check_health_check)
};

fn check_health_check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for kind in [ResourceKind::VirtualNode, ResourceKind::VirtualGateway] {
        for resource in resources.of(kind) {
            let listeners = resource.spec("listeners").map(Node::items).unwrap_or_default();
            for listener in listeners {
                let Some(check) = listener.get("healthCheck") else { continue };
                for (span, wrong, help) in defects(check).into_iter().chain(other_port(listener, check)) {
                    let message = format!("the health check of {} {wrong}", resource.label());
                    findings(resource, Draft::new(span, message, help));
                }
            }
        }
    }
}

type Defect = (Span, String, String);

fn defects(check: &Node) -> Vec<Defect> {
    let mut out: Vec<Defect> = RANGES.iter().filter_map(|(key, range)| out_of_range(check, key, range)).collect();
    // If a value is out of its range, nothing else is reported about it.
    if out.is_empty() {
        out.extend(late(check));
    }
    out.extend(path(check));
    out
}

/// The health check must use the port of the listener.
fn other_port(listener: &Node, check: &Node) -> Option<Defect> {
    let node = check.get("port")?;
    let (checked, port) = (node.number()?, listener.get("portMapping")?.get("port")?.number()?);
    let wrong = format!("connects to port {checked}, but the listener is on {port}");
    (checked != port).then(|| (node.place.span, wrong, "give both the same port".to_owned()))
}

fn out_of_range(check: &Node, key: &str, range: &RangeInclusive<i64>) -> Option<Defect> {
    let node = check.get(key)?;
    let value = node.number().filter(|value| !range.contains(value))?;
    let help = format!("choose a value from {} to {}", range.start(), range.end());
    Some((node.place.span, format!("has the {key} {value}"), help))
}

fn late(check: &Node) -> Option<Defect> {
    let node = check.get("timeoutMillis")?;
    let (timeout, interval) = (node.number()?, check.get("intervalMillis")?.number()?);
    let wrong = format!("may take {timeout} ms, but runs every {interval} ms");
    (timeout >= interval).then(|| (node.place.span, wrong, "make the timeout shorter than the interval".to_owned()))
}

fn path(check: &Node) -> Option<Defect> {
    let protocol = check.get("protocol")?;
    let protocol_name = protocol.text()?;
    match (check.get("path"), matches!(protocol_name, "http" | "http2")) {
        (None, true) => Some((
            protocol.place.span,
            format!("is over {protocol_name} and has no path"),
            "add a path, such as /health".to_owned(),
        )),
        (Some(path), false) if !matches!(path.value, Value::Unknown) => {
            let wrong = format!("is over {protocol_name} and has a path, which is ignored");
            Some((path.place.span, wrong, "remove the path, or check over http".to_owned()))
        }
        _ => None,
    }
}

pub(super) static APPMESH_LISTENER_APP_PORT: Rule = Rule {
    id: "appmesh-listener-app-port",
    summary: "a virtual node listens on a port of its app",
    effect: "the port is not redirected to Envoy, and no app listens on it, so that requests to the node fail",
    explanation: "\
The listener of a virtual node has the port of the app: other Envoys connect to it, ECS redirects it to the Envoy of \
the task because it is one of `AppPorts`, and that Envoy forwards the request to the same port of the app. If the port \
is not in `AppPorts` of the definition whose Envoy represents the node, requests do not reach the app.",
    sources: &[pages::APP_MESH_VIRTUAL_NODES, pages::APP_MESH_ON_ECS],
    example: Some(
        Base::AppMeshResources
            .wrong("[virtualNode orders].virtualNode.spec.listeners[0].portMapping.port", "8080", "9080")
            .given(&[("[definition]", include_str!("../bases/app-mesh.json"))]),
    ),
    ..Rule::of_resources(check_listener_app_port)
};

fn check_listener_app_port(resources: &Resources, subjects: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for subject in subjects {
        let Some(mesh) = subject.app_mesh.as_ref() else { continue };
        let node = mesh.resource().filter(|resource| resource.kind == ResourceKind::VirtualNode);
        let (Some(proxy), Some(resource)) = (mesh.proxy, node) else { continue };
        let Some(ports) = proxy.ports("AppPorts").filter(|ports| !ports.is_empty()) else { continue };
        let file = &subject.definition.file;
        let Some(node) = resources.named(resource.kind, resource.mesh, resource.name, file) else { continue };
        for listener in node.listeners().filter_map(|mapping| mapping.get("port")) {
            let Some(port) = listener.number().filter(|port| !ports.iter().any(|it| i64::from(*it) == *port)) else {
                continue;
            };
            let listed: Vec<String> = ports.iter().map(u16::to_string).collect();
            let (definition, listed) = (subject.definition.label(), listed.join(", "));
            let message = format!("{} listens on {port}, but AppPorts of {definition} are {listed}", node.label());
            let help = format!("let it listen on one of {listed}, or add {port} to AppPorts and the app");
            findings(node, Draft::new(listener.place.span, message, help));
        }
    }
}

pub(super) static APPMESH_MESH_END_OF_SERVICE: Rule = Rule {
    id: "appmesh-mesh-end-of-service",
    summary: "no resources of App Mesh, which ended on 2026-09-30, are in use",
    effect: "the resources do not exist any more: no Envoy gets a configuration from them",
    explanation: "\
AWS ended App Mesh on 2026-09-30. Exported resources describe the mesh for a migration: a virtual node becomes a \
service of Consul or of ECS Service Connect, routes become Consul's service routers and splitters, and virtual \
gateways its API gateways. If task definitions of App Mesh are in the same run, `appmesh-end-of-service` reports them \
instead.",
    sources: &[pages::APP_MESH_MIGRATION],
    // Every mesh has ended: there is no correct example.
    example: None,
    ..Rule::of_resources(check_mesh_end_of_service)
};

fn check_mesh_end_of_service(resources: &Resources, subjects: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    if subjects.iter().any(|subject| subject.app_mesh.is_some()) {
        return;
    }
    let mut meshes = BTreeSet::new();
    for resource in resources.all.iter().filter(|resource| meshes.insert(resource.mesh.whole())) {
        let mesh = resource.mesh.whole().map_or_else(|| "the mesh".to_owned(), |name| format!("the mesh {name}"));
        let message = format!("{mesh} is one of App Mesh, which ended on 2026-09-30");
        let help = "move its services to Consul on ECS (ecs-mesh inject) or to ECS Service Connect";
        findings(resource, Draft::new(resource.span, message, help));
    }
}

pub(super) static APPMESH_NODE_PROTOCOL: Rule = Rule {
    id: "appmesh-node-protocol",
    summary: "virtual nodes have the protocol of their virtual router",
    effect: "Envoy sends the requests in a protocol that the target does not support, and they fail",
    explanation: "\
A route forwards requests in the protocol of its virtual router. Its target nodes need a listener with that protocol. \
If the protocols differ, connections succeed but requests fail.",
    sources: &[pages::APP_MESH_ROUTES, pages::APP_MESH_VIRTUAL_NODES],
    example: Some(Base::AppMeshResources.wrong(
        "[virtualNode orders].virtualNode.spec.listeners[0].portMapping.protocol",
        r#""grpc""#,
        r#""http""#,
    )),
    ..Rule::of_resources(check_node_protocol)
};

fn check_node_protocol(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for router in resources.of(ResourceKind::VirtualRouter) {
        let Some(sent) = router.listeners().next().and_then(|it| it.get("protocol")?.text()) else { continue };
        for node in targets(resources, router, sent) {
            let protocols: Option<Vec<&str>> = node.listeners().map(|it| it.get("protocol")?.text()).collect();
            let Some(others) = protocols.filter(|it| !it.is_empty() && !it.contains(&sent)) else { continue };
            let (label, others) = (node.label(), others.join(" and "));
            let message = format!("{label} listens for {others}, but {} sends it {sent}", router.label());
            let help = format!("give {label} a listener of the protocol {sent}, or change the router and its routes");
            findings(node, Draft::new(node.span_of("listeners"), message, help));
        }
    }
}

/// The virtual nodes in a router's routes of this protocol, each once. Another rule reports routes of another protocol.
fn targets<'r>(resources: &'r Resources, router: &'r Resource, protocol: &str) -> Vec<&'r Resource> {
    let names: BTreeSet<&str> = resources
        .routes(router)
        .filter(|route| route.route().is_some_and(|(sent, _)| sent == protocol))
        .flat_map(Resource::weighted_targets)
        .filter_map(|target| target.get("virtualNode")?.text())
        .collect();
    let Some(mesh) = router.mesh.whole() else { return Vec::new() };
    let node = |name| resources.named(ResourceKind::VirtualNode, mesh, name, &router.file);
    names.into_iter().filter_map(node).collect()
}

pub(super) static APPMESH_OTHER_MESH: Rule = Rule {
    id: "appmesh-other-mesh",
    summary: "resources refer to resources of their own mesh",
    effect: "the reference is broken, because names are valid only within a mesh",
    explanation: "\
References between resources contain no mesh: they always mean the resource's own. A resource of this name exists, but \
in another mesh of the run: one of the two was created in the wrong mesh.",
    sources: &["https://docs.aws.amazon.com/app-mesh/latest/userguide/meshes.html"],
    example: Some(Base::AppMeshResources.wrong("[virtualNode orders].virtualNode.meshName", r#""blog""#, r#""shop""#)),
    ..Rule::of_resources(check_other_mesh)
};

fn check_other_mesh(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for (resource, mesh, Reference { kind, name, node }) in resources.references() {
        let other = resources.other_mesh_with(kind, mesh, name);
        let Some(other) = other.filter(|_| resources.lacks(kind, mesh, name)) else { continue };
        let (label, kind) = (resource.label(), kind.as_str());
        let message = format!("{label} of the mesh {mesh} refers to the {kind} {name}, which is in the mesh {other}");
        let help = format!("create the {kind} {name} in {mesh}, or use an existing one");
        findings(resource, Draft::new(node.place.span, message, help));
    }
}

pub(super) static APPMESH_PROVIDER_MISSING: Rule = Rule {
    id: "appmesh-provider-missing",
    summary: "the provider of a virtual service exists",
    effect: "requests to the virtual service have no target and are answered with 404 or refused",
    explanation: "\
A virtual service is a name; its provider, a virtual node or a virtual router of the same mesh, answers the requests. \
It is reported as missing only if the run has other resources of that kind of the same mesh.",
    sources: &[pages::APP_MESH_VIRTUAL_SERVICES],
    example: Some(Base::AppMeshResources.wrong(
        "[virtualService orders.shop.local].virtualService.spec.provider.virtualRouter.virtualRouterName",
        r#""order""#,
        r#""orders""#,
    )),
    ..Rule::of_resources(check_provider_missing)
};

fn check_provider_missing(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for (resource, mesh, reference) in resources.broken_references(ResourceKind::VirtualService) {
        let kind = reference.kind.as_str();
        let message =
            format!("{} is provided by the {kind} {}, which does not exist", resource.label(), reference.name);
        let help = format!("use one of {}, or create it", resources.names(reference.kind, mesh));
        findings(resource, Draft::new(reference.node.place.span, message, help));
    }
}

pub(super) static APPMESH_SERVICE_DISCOVERY: Rule = Rule {
    id: "appmesh-service-discovery",
    summary: "a virtual node with a listener has service discovery",
    effect: "other Envoys know no address of the node, and requests to it fail with 503",
    explanation: "\
Other Envoys find the tasks of a virtual node by its service discovery: a DNS name, or a service of AWS Cloud Map. \
Only a node without a listener, which gets no requests, needs none.",
    sources: &[pages::APP_MESH_VIRTUAL_NODES],
    example: Some(Base::AppMeshResources.missing(
        "[virtualNode stock].virtualNode.spec.serviceDiscovery",
        r#"{ "awsCloudMap": { "namespaceName": "shop.local", "serviceName": "stock" } }"#,
    )),
    ..Rule::of_resources(check_service_discovery)
};

fn check_service_discovery(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for node in resources.of(ResourceKind::VirtualNode) {
        if node.listeners().next().is_some() && node.spec("serviceDiscovery").is_none() {
            let message = format!("{} has a listener, but no service discovery", node.label());
            let help = "add serviceDiscovery with the DNS name or the Cloud Map service of the ECS service";
            findings(node, Draft::new(node.span, message, help));
        }
    }
}

pub(super) static APPMESH_VIRTUAL_SERVICE_NAME: Rule = Rule {
    id: "appmesh-virtual-service-name",
    summary: "the name of a virtual service does not resolve to the task itself",
    effect: "apps that call the service connect to their own task, without Envoy",
    explanation: "\
Apps call a virtual service by its name, which must not resolve to a loopback address: connections to 127.0.0.1 stay \
in the app's own task, and are not redirected to Envoy. Use the name of the real service in service discovery.",
    sources: &[pages::APP_MESH_VIRTUAL_SERVICES],
    example: Some(Base::AppMeshResources.wrong(
        "[virtualService orders.shop.local].virtualService.virtualServiceName",
        r#""localhost""#,
        r#""orders.shop.local""#,
    )),
    ..Rule::of_resources(check_virtual_service_name)
};

fn check_virtual_service_name(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for service in resources.of(ResourceKind::VirtualService) {
        let Some(name) = service.name.whole().filter(|name| is_loopback(name)) else { continue };
        let message = format!("the virtual service {name} resolves to the caller's own task");
        let help = "name it after the service discovery name of the real service, such as orders.shop.local";
        findings(service, Draft::new(service.span, message, help));
    }
}

fn is_loopback(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_lowercase();
    let is_address = name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    name == "localhost" || name.ends_with(".localhost") || is_address
}
