//! App Mesh's resources: routers and routes.

use std::collections::BTreeSet;

use super::{app_mesh_nodes::report_missing, prelude::*};
use crate::rule::ResourceFindings;
use audit_read::app_mesh::{Presence, Reference, Resource, ResourceKind, Resources};
use document::Node;

const ROUTE: &[ResourceKind] = &[ResourceKind::Route];
const ROUTES: &[ResourceKind] = &[ResourceKind::Route, ResourceKind::GatewayRoute];

pub(super) static APPMESH_ROUTE_PRIORITY_CLASH: Rule =
    Rule::of_resources(page!("appmesh-route-priority-clash", in APP_MESH), check_route_priority_clash);

fn check_route_priority_clash(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    let priority = |route: &Resource| route.spec("priority").and_then(Node::number::<i64>);
    let routes: Vec<&Resource> =
        resources.of(ResourceKind::Route).filter(|route| route.presence != Presence::Conditional).collect();
    for (index, route) in routes.iter().enumerate() {
        let Some(own) = priority(route) else { continue };
        let is_same = |other: &&&Resource| priority(other) == Some(own) && are_of_one_router(resources, route, other);
        let Some(other) = routes.iter().take(index).find(is_same) else { continue };
        let message = format!("{} has the same priority {own} as {}", route.label(), other.label());
        let help = "give the lower number to the route that should be tried first";
        findings(route, Draft::new(route.span_of("priority"), message, help));
    }
}

/// Whether two routes with different names certainly have the same router. Templates of several environments may call
/// different routers the same.
fn are_of_one_router<'r>(resources: &Resources, one: &'r Resource, other: &'r Resource) -> bool {
    let router = |route: &'r Resource| Some((route.mesh.whole()?, route.owner.as_ref()?.whole()?));
    let is_one_environment = || {
        one.file.name == other.file.name
            || (one.presence, other.presence) == (Presence::Exported, Presence::Exported)
            || matches!((resources.owner(one), resources.owner(other)), (Some(a), Some(b)) if std::ptr::eq(a, b))
    };
    let differ = matches!((one.name.whole(), other.name.whole()), (Some(a), Some(b)) if a != b);
    differ && router(one).is_some() && router(one) == router(other) && is_one_environment()
}

pub(super) static APPMESH_ROUTE_PROTOCOL: Rule =
    Rule::of_resources(page!("appmesh-route-protocol", in APP_MESH), check_route_protocol);

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

pub(super) static APPMESH_NODE_PROTOCOL: Rule =
    Rule::of_resources(page!("appmesh-node-protocol", in APP_MESH), check_node_protocol);

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

pub(super) static APPMESH_ROUTE_ROUTER_MISSING: Rule =
    Rule::of_resources(page!("appmesh-route-router-missing", in APP_MESH), check_route_router_missing);

fn check_route_router_missing(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    report_missing(resources, ROUTES, "belongs to", is_owner, findings);
}

fn is_owner(route: &Resource, reference: &Reference<'_>) -> bool {
    Some(reference.kind) == route.kind.owner()
}

pub(super) static APPMESH_ROUTE_TARGET_MISSING: Rule =
    Rule::of_resources(page!("appmesh-route-target-missing", in APP_MESH), check_route_target_missing);

fn check_route_target_missing(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    report_missing(resources, ROUTES, "sends requests to", |route, to| !is_owner(route, to), findings);
}

pub(super) static APPMESH_ROUTE_WEIGHTS: Rule =
    Rule::once_per_resource(page!("appmesh-route-weights", in APP_MESH), ROUTE, check_route_weights);

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

pub(super) static APPMESH_ROUTER_NAME: Rule = Rule::once_per_resource(
    page!("appmesh-router-name", in APP_MESH),
    &[ResourceKind::VirtualRouter],
    check_router_name,
);

fn check_router_name(_: &Resources, router: &Resource) -> Option<Draft> {
    let name = router.name.whole()?;
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_wrong = name.chars().count() > 255 || !name.chars().all(is_legal);
    let message = format!("{} has an invalid name", router.label());
    is_wrong.then(|| Draft::new(router.span, message, "use at most 255 letters, digits, hyphens and underscores"))
}

pub(super) static APPMESH_ROUTER_ROUTES: Rule = Rule::once_per_resource(
    page!("appmesh-router-routes", in APP_MESH),
    &[ResourceKind::VirtualRouter],
    check_router_routes,
);

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
