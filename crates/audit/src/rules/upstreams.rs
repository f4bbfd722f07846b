//! The upstreams in the configuration: their names and ports.

use std::{collections::BTreeMap, ops::RangeInclusive};

use super::{client_agent, live_mesh::is_live, prelude::*};
use crate::rule::TaskFindings;
use audit_read::{app_mesh::Resources, definition::PortMapping};
use document::Node;

/// The upstreams of a service.
pub(super) fn upstreams<'d>(consul: &ConsulTask<'d>) -> &'d [Node] {
    let Some(json) = consul.configuration.json().filter(|_| consul.is_service()) else { return &[] };
    json.get("proxy").map_or(&[], |proxy| proxy.items_of("upstreams"))
}

/// The name of the service behind an upstream. Prepared queries have names of their own.
pub(super) fn destination(upstream: &Node) -> Option<(&Node, &str)> {
    let is_service = upstream.get("destinationType").is_none_or(|kind| kind.text() == Some("service"));
    let node = upstream.get("destinationName").filter(|_| is_service)?;
    Some((node, node.text()?))
}

pub(super) static CONSUL_UPSTREAM_NAME: Rule =
    Rule::of_task(page!("consul-upstream-name"), Applies::Consul, check_upstream_name);

fn check_upstream_name(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    for (node, name) in upstreams(consul).iter().filter_map(destination) {
        if may_be_a_service(name) {
            continue;
        }
        let message = format!("the upstream {name:?} is not the name of a service");
        let help = "write the name of the service as it is in Consul's catalog, without anything else";
        findings.add(Draft::new(node.place.span, message, help));
    }
}

/// Whether a service may have this name, and not only a name of DNS or a variable.
pub(super) fn may_be_a_service(name: &str) -> bool {
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.chars().all(is_of_a_name) && !name.ends_with(".consul")
}

pub(super) static CONSUL_UPSTREAM_MISSPELT: Rule =
    Rule::of_tasks(page!("consul-upstream-misspelt"), Applies::AllTasks, check_upstream_misspelt);

fn check_upstream_misspelt(subjects: &[Subject<'_>], _: &Resources, findings: &mut TaskFindings<'_>) {
    let name = |subject: &Subject<'_>| subject.consul.as_ref()?.service_name(subject.definition);
    let services: BTreeMap<String, String> =
        subjects.iter().filter_map(name).map(|name| (plain(&name), name)).collect();
    // Many tasks have the same upstreams.
    let mut meant_by: BTreeMap<&str, Option<&String>> = BTreeMap::new();
    for subject in subjects {
        let Some(consul) = &subject.consul else { continue };
        for (node, name) in upstreams(consul).iter().filter(|upstream| is_near(upstream)).filter_map(destination) {
            let meant = *meant_by.entry(name).or_insert_with(|| {
                let own = plain(name);
                match services.get(&own) {
                    Some(same) => Some(same),
                    None => services.iter().find(|(plain, _)| is_misspelt(&own, plain)).map(|(_, service)| service),
                }
            });
            if let Some(meant) = meant.filter(|meant| *meant != name && !is_live(subject, name)) {
                let message = format!("no service of this input is called {name}; {meant} is");
                findings(subject, Draft::new(node.place.span, message, format!("write {meant}, if it is meant")));
            }
        }
    }
}

/// Whether the upstream is in the datacenter, namespace and partition of the service.
fn is_near(upstream: &Node) -> bool {
    let elsewhere = ["datacenter", "destinationNamespace", "destinationPartition", "destinationPeer"];
    elsewhere.iter().all(|key| upstream.get(key).is_none_or(|value| value.text() == Some("")))
}

/// A name without what is written in different ways.
pub(super) fn plain(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}

/// Whether `name` is `service` with one letter more or less, or with two swapped. One letter in place of another often makes
/// another service (`api-a` and `api-b`), and so does another beginning (`auth` and `oauth`).
pub(super) fn is_misspelt(name: &str, service: &str) -> bool {
    let (shorter, longer) = (name.len().min(service.len()), name.len().max(service.len()));
    let is_alike = shorter >= 5 && longer - shorter <= 1 && name.bytes().next() == service.bytes().next();
    let letters = |name: &str| name.bytes().filter(u8::is_ascii_lowercase).count();
    let sorted = |name: &str| {
        let mut bytes = name.as_bytes().to_vec();
        bytes.sort_unstable();
        bytes
    };
    let is_one_letter = || letters(name).abs_diff(letters(service)) == 1 || sorted(name) == sorted(service);
    is_alike && is_one_letter() && strsim::osa_distance(name, service) == 1
}

pub(super) static CONSUL_UPSTREAM_PORT: Rule =
    Rule::of_task(page!("consul-upstream-port"), Applies::Consul, check_upstream_port);

fn check_upstream_port(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let taken = taken(consul);
    let mut seen: Vec<(&Node, Option<&str>, u64, String)> = Vec::new();
    for upstream in upstreams(consul) {
        let Some((node, port)) = local_port(upstream) else { continue };
        let address = match upstream.get("localBindAddress") {
            Some(address) => address.text(),
            None => Some("127.0.0.1"),
        };
        let earlier =
            seen.iter().find(|(_, other, number, _)| *number == port && address.is_some() && *other == address);
        let other = taken.iter().find(|(ports, _)| ports.contains(&port)).map(|(_, user)| user.clone());
        let clash = earlier.map(|(.., first)| first.clone()).or(other);
        let name = upstream.get("destinationName").and_then(Node::text);
        let name = name.map_or_else(|| "an upstream".to_owned(), |name| format!("the upstream {name}"));
        if let Some(user) = clash {
            let message = format!("{user} also uses port {port} of {name}");
            let draft = Draft::new(node.place.span, message, another_port(consul, &taken, port));
            findings.add(match earlier {
                Some((first, ..)) => draft.note(first.place.span, "the other upstream"),
                None => draft,
            });
        }
        seen.push((node, address, port, name));
    }
}

/// How to correct an upstream whose port is in use: the app has the port in its configuration too.
fn another_port(consul: &ConsulTask<'_>, taken: &[(RangeInclusive<u64>, String)], port: u64) -> String {
    let others: Vec<u64> = upstreams(consul).iter().filter_map(|upstream| Some(local_port(upstream)?.1)).collect();
    let is_free = |port: &u64| !others.contains(port) && !taken.iter().any(|(ports, _)| ports.contains(port));
    let free = (port.saturating_add(1)..=u64::from(u16::MAX)).find(is_free);
    let such_as = free.map(|free| format!(", such as {free}")).unwrap_or_default();
    format!("give the upstream another port{such_as}, and let the app call it there")
}

fn local_port(upstream: &Node) -> Option<(&Node, u64)> {
    let node = upstream.get("localBindPort")?;
    Some((node, node.number()?))
}

/// The ports on which something certainly listens, and their users.
fn taken(consul: &ConsulTask<'_>) -> Vec<(RangeInclusive<u64>, String)> {
    let mut taken = Vec::new();
    for app in &consul.apps {
        let ports = app.port_mappings.items.iter().filter(|mapping| !mapping.is_udp()).filter_map(PortMapping::ports);
        taken.extend(ports.map(|ports| (ports, app.label())));
    }
    taken.extend(consul.own_ports().into_iter().map(|(port, user)| (port..=port, user.to_owned())));
    if consul.generation == Generation::Client {
        let agents =
            client_agent::PORTS.map(|(port, _)| port).into_iter().filter(|port| *port != client_agent::ON_REQUEST);
        taken.extend(consul.client.iter().flat_map(|client| agents.clone().map(|port| (port..=port, client.label()))));
    }
    taken
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{audit, example::Base};
    use audit_read::{Material, input::read_source};
    use document::SourceFile;

    /// The findings of the rule in `web`, whose upstream is `upstream`, and `orders`.
    fn found(upstream: &serde_json::Value) -> Vec<String> {
        let mut material = Material::default();
        for family in ["web", "orders"] {
            let text = Base::Dataplane.json().replace(r#"\"name\":\"web\""#, &format!(r#"\"name\":\"{family}\""#));
            let escaped = serde_json::Value::String(upstream.to_string()).to_string();
            let upstream = escaped.trim_matches('"');
            let text = text.replace(r#"{\"destinationName\":\"orders\",\"localBindPort\":1234}"#, upstream);
            let file = SourceFile::new(format!("{family}.json"), text);
            read_source(Arc::new(file), true, &mut material).unwrap();
        }
        let findings = audit(&material);
        let of_rule = findings.iter().filter(|finding| finding.rule.id == CONSUL_UPSTREAM_MISSPELT.id);
        of_rule.filter(|finding| finding.file.name == "web.json").map(|finding| finding.message.clone()).collect()
    }

    #[test]
    fn a_misspelt_upstream_is_found_and_another_service_is_not() {
        let upstream = |name: &str| serde_json::json!({ "destinationName": name, "localBindPort": 1234 });
        for misspelt in ["order", "oders", "ordres", "Orders", "orderss"] {
            let wanted = format!("no service of this input is called {misspelt}; orders is");
            assert_eq!(found(&upstream(misspelt)), [wanted], "{misspelt}");
        }
        for another in ["orders", "borders", "orders-2", "ordera", "stock"] {
            assert_eq!(found(&upstream(another)), Vec::<String>::new(), "{another}");
        }
        for elsewhere in ["datacenter", "destinationPartition"] {
            let mut upstream = upstream("order");
            upstream[elsewhere] = "other".into();
            assert_eq!(found(&upstream), Vec::<String>::new(), "{elsewhere}");
        }
    }
}
