//! What mesh-init registers: what Consul refuses in it, and what Envoy refuses of what Consul makes of it.

use std::net::IpAddr;

use super::{prelude::*, upstreams::upstreams};
use document::{HOLE, Node, Span};

pub(super) static CONSUL_REGISTRATION: Rule =
    Rule::of_task(page!("consul-registration"), Applies::Consul, check_registration);

fn check_registration(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let configuration = &consul.configuration;
    let section = if consul.is_gateway { "gateway" } else { "service" };
    let path = format!("{section}.meta");
    if let Maybe::Known(meta) = configuration.at(&path) {
        for (span, what, help) in refused_metadata(meta) {
            findings.add(Draft::new(span, format!("{path} {what}"), help));
        }
    }
    if consul.is_gateway {
        return;
    }
    findings.extend(repeated_upstreams(consul));
    for (index, exposed) in configuration.list("proxy.expose.paths").into_iter().flatten().enumerate() {
        for key in ["path", "listenerPort"] {
            if is_empty(exposed, key) {
                let message = format!("proxy.expose.paths[{index}] has no {key}");
                findings.add(Draft::new(exposed.place.span, message, format!("add {key}")));
            }
        }
        if let Some(path) = exposed.get("path")
            && path.text().is_some_and(|text| !text.is_empty() && !text.starts_with('/'))
        {
            let message = format!("proxy.expose.paths[{index}].path does not begin with /, so no request has it");
            findings.add(Draft::new(path.place.span, message, "write the complete path: /metrics"));
        }
    }
}

/// What tells two upstreams apart. Source: `NodeService.Validate`.
const OF_UPSTREAM: [&str; 6] = [
    "destinationName",
    "destinationType",
    "destinationNamespace",
    "destinationPartition",
    "destinationPeer",
    "datacenter",
];

fn repeated_upstreams<'d>(consul: &ConsulTask<'d>) -> impl Iterator<Item = Draft> + use<'d> {
    let upstreams: &'d [Node] = upstreams(consul);
    upstreams.iter().enumerate().filter_map(move |(index, later)| {
        let name = later.get("destinationName")?.text().filter(|name| !name.is_empty())?;
        let is_same = |earlier: &&Node| {
            OF_UPSTREAM.iter().all(|key| part(later, key).is_some_and(|part_of| Some(part_of) == part(earlier, key)))
        };
        let earlier = upstreams.iter().take(index).find(is_same)?;
        let message = format!("two upstreams have the destination {name}");
        let draft = Draft::new(later.place.span, message, "remove one of the two");
        Some(draft.note(earlier.place.span, "the other upstream"))
    })
}

/// A part of the destination, empty without one; `None` if it is unknown.
fn part<'n>(upstream: &'n Node, key: &str) -> Option<&'n str> {
    match upstream.get(key) {
        None => Some(""),
        Some(node) => node.text().map(|text| if text == "service" && key == "destinationType" { "" } else { text }),
    }
}

/// Whether a field of a map certainly has no value.
fn is_empty(map: &Node, key: &str) -> bool {
    !map.is_unknown() && map.get(key).is_none_or(|node| node.text() == Some("") || node.number() == Some(0))
}

/// Source: `ValidateServiceMetadata`.
fn refused_metadata(meta: &Node) -> Vec<(Span, String, &'static str)> {
    let entries = meta.entries();
    let mut refused = Vec::new();
    if entries.len() > 64 {
        let what = format!("has {} pairs, and Consul accepts 64", entries.len());
        refused.push((meta.place.span, what, "remove some: mesh-init adds its own too"));
    }
    for entry in entries.iter().filter(|entry| !entry.key.contains(HOLE)) {
        let key = entry.key.as_str();
        let is_of_a_key = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let value = entry.node.text().filter(|value| !value.contains(HOLE)).unwrap_or_default();
        let (what, help) = if key.is_empty() || key.len() > 128 || !key.chars().all(is_of_a_key) {
            (format!("has the key {key:?}"), "use 1 to 128 letters, digits, - and _")
        } else if key.starts_with("consul-") && key != "consul-wan-federation" {
            (format!("has the key {key}, and Consul reserves consul-"), "rename the key")
        } else if value.len() > 512 {
            (format!("has a value of {} bytes at {key}", value.len()), "use at most 512 bytes")
        } else {
            continue;
        };
        refused.push((entry.key_span, what, help));
    }
    refused
}

pub(super) static CONSUL_PROXY_ADDRESS: Rule =
    Rule::of_task(page!("consul-proxy-address"), Applies::Consul, check_proxy_address);

fn check_proxy_address(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.is_service()) else { return };
    let own = match consul.configuration.at("proxy.localServiceAddress") {
        Maybe::Known(node) => Some(("proxy.localServiceAddress", node)),
        Maybe::Absent | Maybe::Unknown => None,
    };
    let bound = upstreams(consul).iter().filter_map(|it| Some(("localBindAddress", it.get("localBindAddress")?)));
    for (what, node) in own.into_iter().chain(bound) {
        let name =
            node.text().filter(|text| !text.is_empty() && !text.contains(HOLE) && text.parse::<IpAddr>().is_err());
        if let Some(name) = name {
            let message = format!("{what} is {name}, which is no IP address");
            findings.add(Draft::new(node.place.span, message, "remove it, or write an address: 127.0.0.1"));
        }
    }
}
