//! App Mesh's resources: routers and routes.

use super::pages;
use crate::{
    example::Base,
    finding::{Draft, Severity},
    rule::{ResourceFindings, Rule},
    subject::Subject,
};
use audit_read::{
    app_mesh::{Presence, Reference, Resource, ResourceKind, Resources},
    document::{Node, Value},
};

/// The maximum number of headers.
const MOST: usize = 10;

pub(super) static APPMESH_ROUTE_HEADERS: Rule = Rule {
    id: "appmesh-route-headers",
    summary: "a route matches by at most 10 headers",
    effect: "App Mesh refuses the route",
    explanation: "\
A route can match the path, the method, the scheme and up to ten headers of a request (or metadata, with gRPC). More \
headers need several routes.",
    sources: &[pages::APP_MESH_ROUTES, "https://docs.aws.amazon.com/app-mesh/latest/APIReference/API_HttpRouteMatch.html"],
    example: Some(Base::AppMeshResources.wrong("[route all].route.spec.httpRoute.match.headers", r#"[{ "name": "x-0" }, { "name": "x-1" }, { "name": "x-2" }, { "name": "x-3" }, { "name": "x-4" }, { "name": "x-5" }, { "name": "x-6" }, { "name": "x-7" }, { "name": "x-8" }, { "name": "x-9" }, { "name": "x-10" }]"#, r#"[{ "name": "x-0" }, { "name": "x-1" }, { "name": "x-2" }, { "name": "x-3" }, { "name": "x-4" }, { "name": "x-5" }, { "name": "x-6" }, { "name": "x-7" }, { "name": "x-8" }, { "name": "x-9" }]"#)),
    ..Rule::of_resources(check_route_headers)
};

fn check_route_headers(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for route in resources.of(ResourceKind::Route) {
        let matched = route.route().and_then(|(_, route)| route.get("match"));
        let Some(headers) = matched.and_then(|it| it.get("headers").or_else(|| it.get("metadata"))) else { continue };
        let count = headers.items().iter().filter(|item| !matches!(item.value, Value::Unknown)).count();
        if count > MOST {
            let message = format!("{} matches by {count} headers", route.label());
            let help = format!("match by at most {MOST}, or split the route");
            findings(route, Draft::new(headers.place.span, message, help));
        }
    }
}

pub(super) static APPMESH_ROUTE_PRIORITY: Rule = Rule {
    id: "appmesh-route-priority",
    summary: "the priority of a route is 0 to 1000",
    effect: "App Mesh refuses the route",
    explanation: "\
Routes are tried in the order of their priority, from 0 to 1000. App Mesh refuses other numbers.",
    sources: &[pages::APP_MESH_ROUTES, "https://docs.aws.amazon.com/app-mesh/latest/APIReference/API_RouteSpec.html"],
    example: Some(Base::AppMeshResources.wrong("[route all].route.spec.priority", "1001", "1000")),
    ..Rule::of_resources(check_route_priority)
};

fn check_route_priority(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for route in resources.of(ResourceKind::Route) {
        let priority = route.spec("priority").and_then(Node::number);
        let Some(priority) = priority.filter(|priority| !(0..=1000).contains(priority)) else { continue };
        let message = format!("{} has the priority {priority}", route.label());
        let help = "choose a priority from 0 (first) to 1000 (last)";
        findings(route, Draft::new(route.span_of("priority"), message, help));
    }
}

pub(super) static APPMESH_ROUTE_PRIORITY_CLASH: Rule = Rule {
    id: "appmesh-route-priority-clash",
    summary: "the routes of a virtual router have different priorities",
    severity: Severity::Warning,
    effect: "which of the two routes is tried first is not defined, and a request that matches both may take either",
    explanation: "\
A virtual router tries its routes by priority, the lowest number first, and uses the first one that matches. The order \
of routes with the same priority is undefined.",
    sources: &[pages::APP_MESH_ROUTES],
    example: Some(Base::AppMeshResources.wrong("[route beta]", r#"{ "route": { "meshName": "shop", "virtualRouterName": "orders", "routeName": "beta", "spec": { "priority": 10, "httpRoute": { "match": { "prefix": "/beta" }, "action": { "weightedTargets": [{ "virtualNode": "orders", "weight": 1 }] } } } } }"#, r#"{ "route": { "meshName": "shop", "virtualRouterName": "orders", "routeName": "beta", "spec": { "priority": 5, "httpRoute": { "match": { "prefix": "/beta" }, "action": { "weightedTargets": [{ "virtualNode": "orders", "weight": 1 }] } } } } }"#)),
    ..Rule::of_resources(check_route_priority_clash)
};

fn check_route_priority_clash(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    let routes: Vec<&Resource> =
        resources.of(ResourceKind::Route).filter(|route| route.presence != Presence::Conditional).collect();
    for (index, route) in routes.iter().enumerate() {
        let Some(priority) = route.spec("priority").and_then(Node::number) else { continue };
        let is_same = |other: &&&Resource| {
            are_of_one_router(resources, route, other)
                && other.spec("priority").and_then(Node::number) == Some(priority)
        };
        let Some(other) = routes.iter().take(index).find(is_same) else { continue };
        let message = format!("{} has the same priority {priority} as {}", route.label(), other.label());
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
The listener of a virtual router has one protocol: `http`, `http2`, `grpc` or `tcp`. The router's routes need the same \
protocol, which is the key of their specification: `httpRoute`, `http2Route`, `grpcRoute` or `tcpRoute`.",
    sources: &[pages::APP_MESH_ROUTES, pages::APP_MESH_VIRTUAL_ROUTERS],
    example: Some(Base::AppMeshResources.wrong("[route all].route.spec", r#"{ "priority": 10, "tcpRoute": { "action": { "weightedTargets": [{ "virtualNode": "orders", "weight": 100 }] } } }"#, r#"{ "priority": 10, "httpRoute": { "match": { "prefix": "/" }, "action": { "weightedTargets": [{ "virtualNode": "orders", "weight": 100 }] } } }"#)),
    ..Rule::of_resources(check_route_protocol)
};

fn check_route_protocol(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for router in resources.of(ResourceKind::VirtualRouter) {
        let listened: Option<Vec<&str>> = router.listeners().map(|it| it.get("protocol")?.text()).collect();
        let Some(listened) = listened.filter(|listened| !listened.is_empty()) else { continue };
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

pub(super) static APPMESH_ROUTE_ROUTER_MISSING: Rule = Rule {
    id: "appmesh-route-router-missing",
    summary: "the virtual router of a route and the virtual gateway of a gateway route exist",
    effect: "the route belongs to no router or gateway, and no request uses it",
    explanation: "\
A route belongs to one virtual router, a gateway route to one virtual gateway. If the router or gateway is missing, \
the route is usually one of another environment, or the router or gateway was renamed.",
    sources: &[pages::APP_MESH_ROUTES, pages::APP_MESH_VIRTUAL_ROUTERS, pages::APP_MESH_GATEWAY_ROUTES],
    example: Some(Base::AppMeshResources.wrong("[route beta].route.virtualRouterName", r#""order""#, r#""orders""#).given(&[(
            "[second]",
            r#"{ "route": { "meshName": "shop", "virtualRouterName": "orders", "routeName": "beta", "spec": { "priority": 5, "httpRoute": { "match": { "prefix": "/beta" }, "action": { "weightedTargets": [{ "virtualNode": "orders", "weight": 1 }] } } } } }"#,
        )])),
    ..Rule::of_resources(check_route_router_missing)
};

fn check_route_router_missing(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    let kinds = [ResourceKind::Route, ResourceKind::GatewayRoute];
    let broken = kinds.into_iter().flat_map(|kind| resources.broken_references(kind));
    for (resource, mesh, reference) in broken {
        if Some(reference.kind) != resource.kind.owner() {
            continue;
        }
        let kind = reference.kind.as_str();
        let message = format!("{} belongs to the {kind} {}, which does not exist", resource.label(), reference.name);
        let help = format!("use one of {}, or create it", resources.names(reference.kind, mesh));
        findings(resource, Draft::new(reference.node.place.span, message, help));
    }
}

pub(super) static APPMESH_ROUTE_TARGET_MISSING: Rule = Rule {
    id: "appmesh-route-target-missing",
    summary: "the targets of a route exist as virtual nodes, those of a gateway route as virtual services",
    effect: "the target's share of the requests is answered with 503",
    explanation: "\
A route distributes its requests among virtual nodes by weight. The share of a missing virtual node fails. A gateway \
route sends all of its requests to one virtual service.",
    sources: &[pages::APP_MESH_ROUTES, pages::APP_MESH_GATEWAY_ROUTES],
    example: Some(Base::AppMeshResources.wrong(
        "[route all].route.spec.httpRoute.action.weightedTargets",
        r#"[{ "virtualNode": "orders", "weight": 90 }, { "virtualNode": "orders-v2", "weight": 10 }]"#,
        r#"[{ "virtualNode": "orders", "weight": 90 }, { "virtualNode": "stock", "weight": 10 }]"#,
    )),
    ..Rule::of_resources(check_route_target_missing)
};

fn check_route_target_missing(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    let kinds = [ResourceKind::Route, ResourceKind::GatewayRoute];
    let broken = kinds.into_iter().flat_map(|kind| resources.broken_references(kind));
    for (resource, mesh, reference) in broken {
        if Some(reference.kind) == resource.kind.owner() {
            continue;
        }
        let kind = reference.kind.as_str();
        let message =
            format!("{} sends requests to the {kind} {}, which does not exist", resource.label(), reference.name);
        let help = format!("use one of {}, or create it", resources.names(reference.kind, mesh));
        findings(resource, Draft::new(reference.node.place.span, message, help));
    }
}

pub(super) static APPMESH_ROUTE_WEIGHTS: Rule = Rule {
    id: "appmesh-route-weights",
    summary: "the weights of a route are 0 to 100 each and 1 to 100 together",
    effect: "App Mesh refuses the route, or no target gets requests",
    explanation: "\
Each target of a route has a weight from 0 to 100, relative to the others. The sum of the weights is at most 100. If \
all are 0, no target gets any requests.",
    sources: &[
        pages::APP_MESH_ROUTES,
        "https://docs.aws.amazon.com/app-mesh/latest/APIReference/API_WeightedTarget.html",
    ],
    example: Some(Base::AppMeshResources.wrong(
        "[route all].route.spec.httpRoute.action.weightedTargets",
        r#"[{ "virtualNode": "orders", "weight": 90 }, { "virtualNode": "stock", "weight": 20 }]"#,
        r#"[{ "virtualNode": "orders", "weight": 80 }, { "virtualNode": "stock", "weight": 20 }]"#,
    )),
    ..Rule::of_resources(check_route_weights)
};

fn check_route_weights(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for route in resources.of(ResourceKind::Route) {
        let targets = route.weighted_targets();
        let weights: Option<Vec<i64>> = targets.iter().map(|target| target.get("weight")?.number()).collect();
        let (Some(weights), Some(first)) = (weights, targets.first()) else { continue };
        let total: i64 = weights.iter().fold(0, |sum, weight| sum.saturating_add(*weight));
        let message = if let Some(weight) = weights.iter().find(|weight| !(0..=100).contains(*weight)) {
            format!("{} has a target with the weight {weight}", route.label())
        } else if !(1..=100).contains(&total) {
            format!("the sum of the weights of {} is {total}", route.label())
        } else {
            continue;
        };
        let span = first.get("weight").map_or(route.span, |weight| weight.place.span);
        findings(route, Draft::new(span, message, "use weights of 0 to 100 with a sum of 1 to 100"));
    }
}

pub(super) static APPMESH_ROUTER_NAME: Rule = Rule {
    id: "appmesh-router-name",
    summary: "the name of a virtual router is valid",
    effect: "App Mesh refuses the virtual router",
    explanation: "\
The name of a virtual router has at most 255 letters, digits, hyphens and underscores.",
    sources: &[pages::APP_MESH_VIRTUAL_ROUTERS],
    example: Some(Base::AppMeshResources.wrong(
        "[router]",
        r#"{ "virtualRouter": { "meshName": "shop", "virtualRouterName": "orders.v2", "spec": {} } }"#,
        r#"{ "virtualRouter": { "meshName": "shop", "virtualRouterName": "orders-v2", "spec": {} } }"#,
    )),
    ..Rule::of_resources(check_router_name)
};

fn check_router_name(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for router in resources.of(ResourceKind::VirtualRouter) {
        let Some(name) = router.name.whole() else { continue };
        let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if name.chars().count() > 255 || !name.chars().all(is_legal) {
            let message = format!("{} has an invalid name", router.label());
            let help = "use at most 255 letters, digits, hyphens and underscores";
            findings(router, Draft::new(router.span, message, help));
        }
    }
}

pub(super) static APPMESH_ROUTER_ROUTES: Rule = Rule {
    id: "appmesh-router-routes",
    summary: "a virtual router has routes",
    severity: Severity::Warning,
    effect: "requests to the virtual services that the router provides match nothing and are answered with 404",
    explanation: "\
A virtual router has no effect by itself: its routes determine which virtual nodes get which requests. A router \
without routes is reported only if it provides a virtual service, and only if the run has an export of other routes of \
the mesh, or templates that create the mesh and other routes.",
    sources: &[pages::APP_MESH_VIRTUAL_ROUTERS, pages::APP_MESH_ROUTES],
    example: Some(Base::AppMeshResources.wrong("[virtualService stock.shop.local].virtualService.spec.provider", r#"{ "virtualRouter": { "virtualRouterName": "stock" } }"#, r#"{ "virtualNode": { "virtualNodeName": "stock" } }"#).given(&[(
            "[router]",
            r#"{ "virtualRouter": { "meshName": "shop", "virtualRouterName": "stock", "spec": { "listeners": [{ "portMapping": { "port": 9090, "protocol": "http" } }] } } }"#,
        )])),
    ..Rule::of_resources(check_router_routes)
};

fn check_router_routes(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for router in resources.of(ResourceKind::VirtualRouter) {
        let is_provider = |service: &Resource, mesh: &str, to: &Reference<'_>| {
            service.kind == ResourceKind::VirtualService
                && to.kind == ResourceKind::VirtualRouter
                && router.is_called(mesh, to.name)
        };
        let service = resources.references().find(|(service, mesh, to)| is_provider(service, mesh, to));
        if let Some((service, ..)) = service.filter(|_| resources.lacks_routes(router)) {
            let message = format!("{} provides the {}, but has no route", router.label(), service.label());
            findings(router, Draft::new(router.span, message, "create a route to a virtual node"));
        }
    }
}
