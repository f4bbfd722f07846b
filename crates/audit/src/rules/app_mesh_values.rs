//! Values in the specifications of App Mesh's resources. Source:
//! <https://docs.aws.amazon.com/app-mesh/latest/APIReference/API_Types.html>

use super::prelude::*;
use crate::rule::ResourceFindings;
use audit_read::app_mesh::{Resource, ResourceKind, Resources};
use document::{HOLE, Node, Span, Value};

pub(super) static APPMESH_VALUE: Rule = Rule::of_resources(page!("appmesh-value", in APP_MESH), check_values);

/// The protocols of listeners and routes.
const PROTOCOLS: [&str; 4] = ["http", "http2", "grpc", "tcp"];

/// Keys whose text is one of a few, and the key of the map that they are in. An empty owner is any.
const CLOSED: [(&str, &str, &[&str]); 8] = [
    ("portMapping", "protocol", &PROTOCOLS),
    ("", "unit", &["s", "ms"]),
    ("tls", "mode", &["STRICT", "PERMISSIVE", "DISABLED"]),
    ("egressFilter", "type", &["ALLOW_ALL", "DROP_ALL"]),
    ("", "httpRetryEvents", &["server-error", "gateway-error", "client-error", "stream-error"]),
    ("", "tcpRetryEvents", &["connection-error"]),
    ("", "grpcRetryEvents", &["cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable"]),
    ("dns", "responseType", &["LOADBALANCER", "ENDPOINTS"]),
];

/// Maps that have exactly one of these keys.
const UNIONS: [(&str, &[&str]); 3] = [
    ("provider", &["virtualNode", "virtualRouter"]),
    ("serviceDiscovery", &["dns", "awsCloudMap"]),
    ("certificate", &["acm", "file", "sds"]),
];

/// The keys that a map needs.
const REQUIRED: [(&str, &[&str]); 2] = [("retryPolicy", &["maxRetries", "perRetryTimeout"]), ("tls", &["certificate"])];

/// The bytes of a value, what is wrong with it, and how to correct it.
type Defect = (Span, String, String);

fn check_values(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for resource in ResourceKind::ALL.iter().flat_map(|kind| resources.of(*kind)) {
        let Some(spec) = resource.node.get("spec") else { continue };
        let mut defects = Vec::new();
        walk("spec", spec, &mut defects);
        defects.extend(of_listeners(resource));
        defects.extend(of_match(resource));
        for (span, wrong, help) in defects {
            findings(resource, Draft::new(span, format!("{} {wrong}", resource.label()), help));
        }
    }
}

/// Judges a map that is called `owner`, and what it contains. The items of a list have the name of the list.
fn walk(owner: &str, node: &Node, defects: &mut Vec<Defect>) {
    for item in node.items() {
        walk(owner, item, defects);
    }
    let has = |key: &str| node.get(key).is_some();
    let is_map = matches!(node.value, Value::Map(_));
    for (_, keys) in UNIONS.iter().filter(|(name, _)| *name == owner && is_map) {
        let found: Vec<&str> = keys.iter().filter(|key| has(key)).copied().collect();
        if found.len() > 1 {
            let wrong = format!("has {} in {owner}, which takes one of them", found.join(" and "));
            defects.push((node.place.span, wrong, format!("keep {} alone", found.join(" or "))));
        }
    }
    // The TLS of a client policy has no certificate of its own.
    let is_of_listener = owner != "tls" || has("mode");
    let is_off = node.get("mode").and_then(Node::text).is_some_and(|mode| mode == "DISABLED" || mode.contains(HOLE));
    for (_, keys) in REQUIRED.iter().filter(|(name, _)| *name == owner && is_map && is_of_listener && !is_off) {
        if let Some(missing) = keys.iter().find(|key| !has(key)) {
            let wrong = format!("has no {missing} in {owner}");
            defects.push((node.place.span, wrong, format!("add {missing}: App Mesh refuses {owner} without it")));
        }
    }
    for entry in node.entries() {
        for (_, key, allowed) in
            CLOSED.iter().filter(|(of, key, _)| (of.is_empty() || *of == owner) && *key == entry.key)
        {
            // Terraform's lists of texts are read as their first item.
            let items =
                if entry.node.items().is_empty() { std::slice::from_ref(&entry.node) } else { entry.node.items() };
            for (item, text) in items.iter().filter_map(|item| Some((item, item.text()?))) {
                if !allowed.contains(&text) && !text.contains(HOLE) {
                    let help = format!("write {}", allowed.join(" or "));
                    defects.push((item.place.span, format!("has {text:?} as {key}"), help));
                }
            }
        }
        if entry.key == "maxEjectionPercent"
            && let Some(percent) = entry.node.number::<i64>().filter(|percent| !(0..=100).contains(percent))
        {
            let wrong = format!("has {percent} as maxEjectionPercent");
            defects.push((entry.node.place.span, wrong, "write a percentage from 0 to 100".to_owned()));
        }
        walk(&entry.key, &entry.node, defects);
    }
}

/// A listener has the timeouts and connection pools of its own protocol.
fn of_listeners(resource: &Resource) -> Vec<Defect> {
    let listeners = resource.spec("listeners").map(Node::items).unwrap_or_default();
    let of_listener = |listener: &Node| -> Vec<Defect> {
        let protocol = listener.get("portMapping").and_then(|mapping| mapping.get("protocol")?.text());
        let Some(protocol) = protocol.filter(|protocol| PROTOCOLS.contains(protocol)) else { return Vec::new() };
        let others = ["timeout", "connectionPool"].into_iter().flat_map(|key| {
            let entries = listener.get(key).map(Node::entries).unwrap_or_default();
            let is_other = |name: &str| PROTOCOLS.contains(&name) && name != protocol;
            entries.iter().filter(move |entry| is_other(&entry.key)).map(move |entry| (key, entry))
        });
        let defect = |(key, entry): (&str, &document::Entry)| {
            let wrong = format!("has a {key} for {} in a listener for {protocol}", entry.key);
            (entry.key_span, wrong, format!("write {protocol}"))
        };
        others.map(defect).collect()
    };
    listeners.iter().flat_map(of_listener).collect()
}

/// A prefix of paths begins with a slash.
fn of_match(route: &Resource) -> Option<Defect> {
    let prefix = route.route()?.1.get("match")?.get("prefix")?;
    let text = prefix.text().filter(|text| !text.starts_with(['/', HOLE]))?;
    Some((prefix.place.span, format!("matches the prefix {text:?}"), "begin it with /".to_owned()))
}
