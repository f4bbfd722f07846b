//! What the resources of App Mesh set and no task definition has: an injection cannot carry it over.

use std::{fmt, sync::Arc};

use serde_json::{Map, Value, json};

use crate::{severity::Severity, subject::MeshResource};
use audit_read::app_mesh::{Resource, ResourceKind, Resources};
use document::{Node, SourceFile};
use mesh::names::ServiceName;

type Note = (Severity, String);

/// What is lost of the virtual node that Envoy represents, and of the routes to it.
pub(super) fn notes(
    resources: &Resources,
    file: &Arc<SourceFile>,
    envoy: MeshResource<'_>,
    service: &ServiceName,
) -> Vec<Note> {
    let Some(node) = resources.named(envoy.kind, envoy.mesh, envoy.name, file) else {
        let unread = format!(
            "{} {} is not in this file: its timeouts and backends, and the retries of its routes, are not carried over",
            envoy.kind.as_str(),
            envoy.name
        );
        return vec![(Severity::Info, unread)];
    };
    let routes: Vec<&Resource> = resources.of(ResourceKind::Route).filter(|route| leads_to(route, node)).collect();
    let of_node = listeners(node).find_map(|(protocol, listener)| {
        let timeouts = Timeouts::of(listener.get("timeout")?.get(protocol)?);
        timeouts.is_set().then_some((protocol, timeouts))
    });
    let of_route = |route: &&Resource| {
        let (protocol, body) = route.route()?;
        let timeouts = Timeouts::of(body.get("timeout")?);
        timeouts.is_set().then(|| (protocol.to_owned(), route.label(), timeouts))
    };
    let of_routes: Vec<(String, String, Timeouts)> = routes.iter().filter_map(of_route).collect();
    let mut notes = Vec::new();
    notes.extend(lost_timeouts(of_node.map(|(_, timeouts)| (node.label(), timeouts)), &of_routes));
    notes.extend(of_node.and_then(|(protocol, timeouts)| service_defaults(protocol, timeouts, service)));
    notes.extend(service_router(&of_routes, service));
    notes.extend(others(node, &routes).map(|lost| (Severity::Info, lost)));
    notes
}

/// That these timeouts are lost.
fn lost_timeouts(of_node: Option<(String, Timeouts)>, of_routes: &[(String, String, Timeouts)]) -> Option<Note> {
    let of_node = of_node.into_iter().map(|(label, timeouts)| format!("{label} ({timeouts})"));
    let of_routes = of_routes.iter().map(|(_, label, timeouts)| format!("{label} ({timeouts})"));
    let named: Vec<String> = of_node.chain(of_routes).collect();
    (!named.is_empty()).then(|| {
        let lost = format!(
            "the timeouts of {} are not carried over: without entries such as these, Consul ends a request over HTTP after \
             {DEFAULT} s",
            named.join(" and of ")
        );
        (Severity::Warning, lost)
    })
}

/// The entry that keeps the timeout of a node's listener.
fn service_defaults(protocol: &str, timeouts: Timeouts, service: &ServiceName) -> Option<Note> {
    let entry = json!({
        "Kind": "service-defaults", "Name": service.as_str(), "Protocol": protocol,
        "LocalRequestTimeoutMs": timeouts.request?.milliseconds(),
    });
    Some((Severity::Info, format!("consul config write: {entry}")))
}

/// The entry that keeps the timeouts of the routes. It is for HTTP only.
fn service_router(of_routes: &[(String, String, Timeouts)], service: &ServiceName) -> Option<Note> {
    let longest = |of: fn(&Timeouts) -> Option<Timeout>| {
        of_routes.iter().filter_map(|(_, _, timeouts)| of(timeouts)).max_by_key(|timeout| timeout.milliseconds())
    };
    let settings = [("RequestTimeout", longest(|it| it.request)), ("IdleTimeout", longest(|it| it.idle))];
    let destination: Map<String, Value> =
        settings.into_iter().filter_map(|(key, timeout)| Some((key.to_owned(), json!(timeout?.in_go())))).collect();
    if destination.is_empty() || of_routes.iter().any(|(protocol, ..)| protocol == TCP) {
        return None;
    }
    let routes = json!([{ "Destination": destination }]);
    let entry = json!({ "Kind": "service-router", "Name": service.as_str(), "Routes": routes });
    Some((Severity::Info, format!("consul config write: {entry}")))
}

/// The seconds after which Envoy ends a request over HTTP if its configuration has no timeout. Source:
/// <https://developer.hashicorp.com/consul/docs/reference/config-entry/service-defaults>
const DEFAULT: u64 = 15;

/// The protocol of a listener or route without requests.
const TCP: &str = "tcp";

fn leads_to(route: &Resource, node: &Resource) -> bool {
    let is_target =
        |target: &Node| target.get("virtualNode").and_then(Node::text).is_some_and(|it| node.name.whole() == Some(it));
    route.mesh == node.mesh && route.weighted_targets().iter().any(is_target)
}

/// The listeners of a node with their protocols.
fn listeners(node: &Resource) -> impl Iterator<Item = (&str, &Node)> {
    let all = node.spec("listeners").map(Node::items).unwrap_or_default();
    all.iter().filter_map(|listener| Some((listener.get("portMapping")?.get("protocol")?.text()?, listener)))
}

/// What else is set, as one sentence.
fn others(node: &Resource, routes: &[&Resource]) -> impl Iterator<Item = String> {
    const OF_LISTENERS: [&str; 3] = ["connectionPool", "outlierDetection", "tls"];
    let has = |key: &&str| listeners(node).any(|(_, listener)| listener.get(key).is_some());
    let of_node: Vec<&str> = OF_LISTENERS.into_iter().filter(has).collect();
    let of_node = (!of_node.is_empty()).then(|| format!("{} of {}", of_node.join(", "), node.label()));
    let has_retries = |route: &&&Resource| route.route().is_some_and(|(_, body)| body.get("retryPolicy").is_some());
    let of_routes = routes.iter().filter(has_retries).map(|route| format!("retryPolicy of {}", route.label()));
    let all: Vec<String> = of_node.into_iter().chain(of_routes).collect();
    let settings = (!all.is_empty()).then(|| format!("not carried over: {}", all.join(", ")));
    let backends: Vec<&str> = node.references().into_iter().map(|backend| backend.name).collect();
    let backends = (!backends.is_empty()).then(|| {
        format!("the backends of {} need an upstream each, --upstream NAME:PORT: {}", node.label(), backends.join(", "))
    });
    settings.into_iter().chain(backends)
}

/// The timeouts of a listener or route that are set.
#[derive(Clone, Copy)]
struct Timeouts {
    request: Option<Timeout>,
    idle: Option<Timeout>,
}

impl Timeouts {
    fn of(node: &Node) -> Self {
        let timeout = |key| node.get(key).and_then(Timeout::of);
        Self { request: timeout("perRequest"), idle: timeout("idle") }
    }

    fn is_set(&self) -> bool {
        self.request.is_some() || self.idle.is_some()
    }
}

impl fmt::Display for Timeouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = [self.request.map(|it| format!("{it} per request")), self.idle.map(|it| format!("{it} idle"))];
        write!(f, "{}", each.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// A duration of App Mesh, in milliseconds; 0 means that nothing ends.
#[derive(Clone, Copy)]
struct Timeout(u64);

/// Longer than any request: Consul takes 0 for its default.
const DAY: u64 = 86_400_000;

impl Timeout {
    fn of(node: &Node) -> Option<Self> {
        let value: u64 = node.get("value")?.number()?;
        match node.get("unit")?.text()? {
            "ms" => Some(Self(value)),
            "s" => Some(Self(value.saturating_mul(1000))),
            _ => None,
        }
    }

    /// In the notation of Go, without a fraction.
    fn in_go(self) -> String {
        match self.milliseconds() {
            whole if whole.is_multiple_of(1000) => format!("{}s", whole / 1000),
            part => format!("{part}ms"),
        }
    }

    fn milliseconds(self) -> u64 {
        if self.0 == 0 { DAY } else { self.0 }
    }
}

impl fmt::Display for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => write!(f, "no limit"),
            whole if whole.is_multiple_of(1000) => write!(f, "{} s", whole / 1000),
            part => write!(f, "{part} ms"),
        }
    }
}
