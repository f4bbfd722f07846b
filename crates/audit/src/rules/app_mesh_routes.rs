//! App Mesh's resources: routers and routes.

use std::collections::BTreeSet;

use super::{app_mesh_nodes::report_missing, prelude::*};
use crate::rule::ResourceFindings;
use audit_read::app_mesh::{Presence, Reference, Resource, ResourceKind, Resources};
use document::{Node, Value};

/// The maximum number of headers.
const MOST: usize = 10;
const ROUTE: &[ResourceKind] = &[ResourceKind::Route];
const ROUTES: &[ResourceKind] = &[ResourceKind::Route, ResourceKind::GatewayRoute];

pub(super) static APPMESH_ROUTE_HEADERS: Rule = Rule {
    id: "appmesh-route-headers",
    summary: "a route matches by at most 10 headers",
    effect: "App Mesh refuses the route",
    explanation: "\
A route can match the path, the method, the scheme and up to ten headers of a request (or metadata, with gRPC). Split a \
route that needs more.",
    sources: &[
        pages::APP_MESH_ROUTES,
        "https://docs.aws.amazon.com/app-mesh/latest/APIReference/API_HttpRouteMatch.html",
    ],
    example: Some(Base::AppMeshResources.wrong("[route all].route.spec.httpRoute.match.headers", r#"[{ "name": "x-0" }, { "name": "x-1" }, { "name": "x-2" }, { "name": "x-3" }, { "name": "x-4" }, { "name": "x-5" }, { "name": "x-6" }, { "name": "x-7" }, { "name": "x-8" }, { "name": "x-9" }, { "name": "x-10" }]"#)),
    ..Rule::once_per_resource(ROUTE, check_route_headers)
};

fn check_route_headers(_: &Resources, route: &Resource) -> Option<Draft> {
    let matched = route.route()?.1.get("match")?;
    let headers = matched.get("headers").or_else(|| matched.get("metadata"))?;
    let count = headers.items().iter().filter(|item| !matches!(item.value, Value::Unknown)).count();
    let message = format!("{} matches by {count} headers", route.label());
    let help = format!("match by at most {MOST}, or split the route");
    (count > MOST).then(|| Draft::new(headers.place.span, message, help))
}

pub(super) static APPMESH_ROUTE_PRIORITY: Rule = Rule {
    id: "appmesh-route-priority",
    summary: "the priority of a route is 0 to 1000",
    effect: "App Mesh refuses the route",
    explanation: "\
Routes are tried in the order of their priority, from 0 to 1000. App Mesh refuses other numbers.",
    sources: &[pages::APP_MESH_ROUTES, "https://docs.aws.amazon.com/app-mesh/latest/APIReference/API_RouteSpec.html"],
    example: Some(Base::AppMeshResources.wrong("[route all].route.spec.priority", "1001")),
    ..Rule::once_per_resource(ROUTE, check_route_priority)
};

fn check_route_priority(_: &Resources, route: &Resource) -> Option<Draft> {
    let priority = route.spec("priority").and_then(Node::number::<i64>).filter(|it| !(0..=1000).contains(it))?;
    let message = format!("{} has the priority {priority}", route.label());
    Some(Draft::new(route.span_of("priority"), message, "choose a priority from 0 (first) to 1000 (last)"))
}

pub(super) static APPMESH_ROUTE_PRIORITY_CLASH: Rule = Rule {
    id: "appmesh-route-priority-clash",
    summary: "the routes of a virtual router have different priorities",
    severity: Severity::Warning,
    effect: "the order of the two routes is undefined, and a request that matches both may take either",
    explanation: "\
A virtual router tries its routes by priority, the lowest number first, and uses the first one that matches. The order \
of routes with the same priority is undefined.",
    sources: &[pages::APP_MESH_ROUTES],
    example: Some(Base::AppMeshResources.wrong("[route beta]", r#"{ "route": { "meshName": "shop", "virtualRouterName": "orders", "routeName": "beta", "spec": { "priority": 10, "httpRoute": { "match": { "prefix": "/beta" }, "action": { "weightedTargets": [{ "virtualNode": "orders", "weight": 1 }] } } } } }"#).repaired_to(r#"{ "route": { "meshName": "shop", "virtualRouterName": "orders", "routeName": "beta", "spec": { "priority": 5, "httpRoute": { "match": { "prefix": "/beta" }, "action": { "weightedTargets": [{ "virtualNode": "orders", "weight": 1 }] } } } } }"#)),
    ..Rule::of_resources(check_route_priority_clash)
};

fn check_route_priority_clash(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    let priority = |route: &Resource| route.spec("priority").and_then(Node::number::<i64>);
    let routes: Vec<&Resource> =
        resources.of(ResourceKind::Route).filter(|route| route.presence != Presence::Conditional).collect();
    for (index, route) in routes.iter().enumerate() {
        let Some(own) = priority(route) else { continue };
        let is_same = |other: &&&Resource| are_of_one_router(resources, route, other) && priority(other) == Some(own);
        let Some(other) = routes.iter().take(index).find(is_same) else { continue };
        let message = format!("{} has the same priority {own} as {}", route.label(), other.label());
        let help = "give the lower number to the route that should be tried first";
        findings(route, Draft::new(route.span_of("priority"), message, help));
    }
}

/// Whether two routes with different names certainly have the same router. Templates of several environments may call
/// different routers the same.
fn are_of_one_router(resources: &Resources, one: &Resource, other: &Resource) -> bool {
    let names = |route: &Resource| {
        let router = route.owner.as_ref()?.whole()?.to_owned();
        Some((route.mesh.whole()?.to_owned(), router))
    };
    let is_one_environment = one.file.name == other.file.name
        || (one.presence, other.presence) == (Presence::Exported, Presence::Exported)
        || matches!((resources.owner(one), resources.owner(other)), (Some(a), Some(b)) if std::ptr::eq(a, b));
    let differ = matches!((one.name.whole(), other.name.whole()), (Some(a), Some(b)) if a != b);
    differ && is_one_environment && names(one).is_some() && names(one) == names(other)
}

pub(super) static APPMESH_ROUTE_PROTOCOL: Rule = Rule {
    id: "appmesh-route-protocol",
    summary: "a route has the protocol of its virtual router",
    effect: "the listener of the router cannot use the route, and its requests fail",
    explanation: "\
The listener of a virtual router has one protocol: `http`, `http2`, `grpc` or `tcp`. Its routes need the same protocol, \
which is the key of their specification: `httpRoute`, `http2Route`, `grpcRoute` or `tcpRoute`.",
    sources: &[pages::APP_MESH_ROUTES, pages::APP_MESH_VIRTUAL_ROUTERS],
    example: Some(Base::AppMeshResources.wrong("[route all].route.spec", r#"{ "priority": 10, "tcpRoute": { "action": { "weightedTargets": [{ "virtualNode": "orders", "weight": 100 }] } } }"#)),
    ..Rule::of_resources(check_route_protocol)
};

fn check_route_protocol(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for router in resources.of(ResourceKind::VirtualRouter) {
        let Some(listened) = protocols(router) else { continue };
        for route in resources.routes(router) {
            let Some((protocol, node)) = route.route().filter(|(protocol, _)| !listened.contains(protocol)) else {
                continue;
            };
            let (label, accepted) = (route.label(), listened.join(" and "));
            let message = format!("{label} has the protocol {protocol}, but {} listens for {accepted}", router.label());
            let help = format!("make it a route for {accepted}, or change the router's listener");
            findings(route, Draft::new(node.place.span, message, help));
        }
    }
}

/// The protocols of a resource's listeners, if all of them are known and there is one.
fn protocols(resource: &Resource) -> Option<Vec<&str>> {
    let protocols: Option<Vec<&str>> = resource.listeners().map(|it| it.get("protocol")?.text()).collect();
    protocols.filter(|protocols| !protocols.is_empty())
}

pub(super) static APPMESH_NODE_PROTOCOL: Rule = Rule {
    id: "appmesh-node-protocol",
    summary: "virtual nodes have the protocol of their virtual router",
    effect: "Envoy sends the requests in a protocol that the target does not support, and they fail",
    explanation: "\
A route forwards requests in the protocol of its virtual router. Its target nodes need a listener with that protocol. If \
the protocols differ, connections succeed but requests fail.",
    sources: &[pages::APP_MESH_ROUTES, pages::APP_MESH_VIRTUAL_NODES],
    example: Some(
        Base::AppMeshResources
            .wrong("[virtualNode orders].virtualNode.spec.listeners[0].portMapping.protocol", r#""grpc""#),
    ),
    ..Rule::of_resources(check_node_protocol)
};

fn check_node_protocol(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for router in resources.of(ResourceKind::VirtualRouter) {
        let Some(sent) = router.listeners().next().and_then(|it| it.get("protocol")?.text()) else { continue };
        for node in targets(resources, router, sent) {
            let Some(others) = protocols(node).filter(|it| !it.contains(&sent)) else { continue };
            let (label, others) = (node.label(), others.join(" and "));
            let message = format!("{label} listens for {others}, but {} sends it {sent}", router.label());
            let help = format!("give {label} a listener of the protocol {sent}, or change the router and its routes");
            findings(node, Draft::new(node.span_of("listeners"), message, help));
        }
    }
}

/// The virtual nodes in a router's routes of this protocol, each once. `appmesh-route-protocol` reports other routes.
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

pub(super) static APPMESH_ROUTE_ROUTER_MISSING: Rule = Rule {
    id: "appmesh-route-router-missing",
    summary: "the virtual router of a route and the virtual gateway of a gateway route exist",
    effect: "the route belongs to no router or gateway, and no request uses it",
    explanation: "\
A route belongs to one virtual router, a gateway route to one virtual gateway. If the router or gateway is missing, the \
route is usually of another environment, or the router or gateway was renamed.",
    sources: &[pages::APP_MESH_ROUTES, pages::APP_MESH_VIRTUAL_ROUTERS, pages::APP_MESH_GATEWAY_ROUTES],
    example: Some(
        Base::AppMeshResources.wrong("[route beta].route.virtualRouterName", r#""order""#)
            .given(&[(
                "[second]",
                r#"{ "route": { "meshName": "shop", "virtualRouterName": "orders", "routeName": "beta", "spec": { "priority": 5, "httpRoute": { "match": { "prefix": "/beta" }, "action": { "weightedTargets": [{ "virtualNode": "orders", "weight": 1 }] } } } } }"#,
            )]),
    ),
    ..Rule::of_resources(check_route_router_missing)
};

fn check_route_router_missing(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    report_missing(resources, ROUTES, "belongs to", is_owner, findings);
}

fn is_owner(route: &Resource, reference: &Reference<'_>) -> bool {
    Some(reference.kind) == route.kind.owner()
}

pub(super) static APPMESH_ROUTE_TARGET_MISSING: Rule = Rule {
    id: "appmesh-route-target-missing",
    summary: "the targets of a route exist as virtual nodes, the target of a gateway route as virtual service",
    effect: "the target's share of the requests is answered with 503",
    explanation: "\
A route distributes its requests among virtual nodes by weight. The share of a missing virtual node fails. A gateway \
route sends all of its requests to one virtual service.",
    sources: &[pages::APP_MESH_ROUTES, pages::APP_MESH_GATEWAY_ROUTES],
    example: Some(Base::AppMeshResources.wrong(
        "[route all].route.spec.httpRoute.action.weightedTargets",
        r#"[{ "virtualNode": "orders", "weight": 90 }, { "virtualNode": "orders-v2", "weight": 10 }]"#,
    )),
    ..Rule::of_resources(check_route_target_missing)
};

fn check_route_target_missing(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    report_missing(resources, ROUTES, "sends requests to", |route, to| !is_owner(route, to), findings);
}

pub(super) static APPMESH_ROUTE_WEIGHTS: Rule = Rule {
    id: "appmesh-route-weights",
    summary: "the weights of a route are 0 to 100 each and 1 to 100 together",
    effect: "App Mesh refuses the route, or no target gets requests",
    explanation: "\
Each target of a route has a weight from 0 to 100, relative to the others. The sum of the weights is at most 100. If all \
are 0, no target gets any requests.",
    sources: &[
        pages::APP_MESH_ROUTES,
        "https://docs.aws.amazon.com/app-mesh/latest/APIReference/API_WeightedTarget.html",
    ],
    example: Some(Base::AppMeshResources.wrong(
        "[route all].route.spec.httpRoute.action.weightedTargets",
        r#"[{ "virtualNode": "orders", "weight": 90 }, { "virtualNode": "stock", "weight": 20 }]"#,
    )),
    ..Rule::once_per_resource(ROUTE, check_route_weights)
};

fn check_route_weights(_: &Resources, route: &Resource) -> Option<Draft> {
    let targets = route.weighted_targets();
    let weights: Vec<i64> = targets.iter().map(|target| target.get("weight")?.number()).collect::<Option<_>>()?;
    let total: i64 = weights.iter().fold(0, |sum, weight| sum.saturating_add(*weight));
    let message = if let Some(weight) = weights.iter().find(|weight| !(0..=100).contains(*weight)) {
        format!("{} has a target with the weight {weight}", route.label())
    } else if !(1..=100).contains(&total) {
        format!("the weights of {} add up to {total}", route.label())
    } else {
        return None;
    };
    let span = targets.first()?.get("weight").map_or(route.span, |weight| weight.place.span);
    Some(Draft::new(span, message, "use weights of 0 to 100 with a sum of 1 to 100"))
}

pub(super) static APPMESH_ROUTER_NAME: Rule = Rule {
    id: "appmesh-router-name",
    summary: "the name of a virtual router is valid",
    effect: "App Mesh refuses the virtual router",
    explanation: "\
The name of a virtual router has at most 255 characters: letters, digits, hyphens and underscores.",
    sources: &[pages::APP_MESH_VIRTUAL_ROUTERS],
    example: Some(
        Base::AppMeshResources
            .wrong(
                "[router]",
                r#"{ "virtualRouter": { "meshName": "shop", "virtualRouterName": "orders.v2", "spec": {} } }"#,
            )
            .repaired_to(
                r#"{ "virtualRouter": { "meshName": "shop", "virtualRouterName": "orders-v2", "spec": {} } }"#,
            ),
    ),
    ..Rule::once_per_resource(&[ResourceKind::VirtualRouter], check_router_name)
};

fn check_router_name(_: &Resources, router: &Resource) -> Option<Draft> {
    let name = router.name.whole()?;
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_wrong = name.chars().count() > 255 || !name.chars().all(is_legal);
    let message = format!("{} has an invalid name", router.label());
    is_wrong.then(|| Draft::new(router.span, message, "use at most 255 letters, digits, hyphens and underscores"))
}

pub(super) static APPMESH_ROUTER_ROUTES: Rule = Rule {
    id: "appmesh-router-routes",
    summary: "a virtual router has routes",
    severity: Severity::Warning,
    effect: "requests to the router's virtual services match nothing and are answered with 404",
    explanation: "\
The routes of a virtual router determine which virtual nodes get which requests. A router without routes is reported \
only if it provides a virtual service, and if the run has an export of other routes of the mesh, or templates that \
create the mesh and other routes.",
    sources: &[pages::APP_MESH_VIRTUAL_ROUTERS, pages::APP_MESH_ROUTES],
    example: Some(
        Base::AppMeshResources.wrong("[virtualService stock.shop.local].virtualService.spec.provider", r#"{ "virtualRouter": { "virtualRouterName": "stock" } }"#)
            .given(&[(
                "[router]",
                r#"{ "virtualRouter": { "meshName": "shop", "virtualRouterName": "stock", "spec": { "listeners": [{ "portMapping": { "port": 9090, "protocol": "http" } }] } } }"#,
            )]),
    ),
    ..Rule::once_per_resource(&[ResourceKind::VirtualRouter], check_router_routes)
};

fn check_router_routes(resources: &Resources, router: &Resource) -> Option<Draft> {
    let is_provider = |service: &Resource, mesh: &str, to: &Reference<'_>| {
        service.kind == ResourceKind::VirtualService
            && to.kind == ResourceKind::VirtualRouter
            && router.is_called(mesh, to.name)
    };
    let (service, ..) = resources.references().find(|(service, mesh, to)| is_provider(service, mesh, to))?;
    let message = format!("{} provides {}, but has no route", router.label(), service.label());
    resources.lacks_routes(router).then(|| Draft::new(router.span, message, "create a route to a virtual node"))
}
