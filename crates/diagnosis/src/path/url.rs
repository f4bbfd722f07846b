//! Where the app thinks that its proxy listens: the addresses within the task that its environment variables name.

use std::{collections::BTreeSet, net::Ipv4Addr};

use mesh::{
    definition::ContainerDefinition,
    local_address::{LocalAddress, LocalHost},
};
use observe::{ConnectProxy, RegisteredUpstream};

use super::{
    evidence::PathEvidence,
    report::{PathLine, Place},
    way_out::{address, is_asked},
};

const PLACE: Place = Place::Url;

pub(super) fn judge(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let proxies = evidence.source.proxies.iter().flatten();
    let proxies: Vec<&ConnectProxy> = proxies.filter(|proxy| is_asked(proxy, evidence.from_task)).collect();
    let (source, destination) = (&evidence.source.service, &evidence.destination.service);
    let upstreams = || proxies.iter().flat_map(|proxy| &proxy.upstreams);
    let Some(own) = upstreams().find(|upstream| destination.is_destination_of(upstream, source)) else {
        return vec![PathLine::not_needed(PLACE, "no upstream listens on a port of the task")];
    };
    let (named, mut known) = named_in(evidence);
    let of_own: Vec<&NamedAddress<'_>> =
        named.iter().filter(|named| named.address.port == own.local_bind_port).collect();
    if let Some(first) = of_own.first() {
        let line = of_own.iter().find_map(|named| named.misses(own));
        return vec![line.unwrap_or_else(|| PathLine::ok(PLACE, first.to_string()))];
    }
    known.extend(upstreams().map(|upstream| upstream.local_bind_port));
    known.extend(proxies.iter().map(|proxy| proxy.local_service_port));
    let lost = named.iter().find(|named| !known.contains(&named.address.port));
    vec![match lost {
        Some(named) => {
            let listens = format!("{}:{}", address(own), own.local_bind_port);
            PathLine::possible(
                PLACE,
                format!("{named}, where no upstream listens. That of {} listens on {listens}", destination.name),
            )
        }
        None => PathLine::not_needed(PLACE, "no environment variable of the app names an address in the task for it"),
    }]
}

/// An address that a container of the app names.
struct NamedAddress<'a> {
    container: &'a str,
    address: LocalAddress,
}

/// The addresses that the apps of the tasks name, and the ports on which containers may listen themselves.
fn named_in<'a>(evidence: &PathEvidence<'a>) -> (Vec<NamedAddress<'a>>, BTreeSet<u16>) {
    let (mut named, mut ports) = (Vec::new(), BTreeSet::new());
    for member in evidence.source_members() {
        let apps: Vec<&ContainerDefinition> = member.definition.apps().collect();
        ports.extend(member.definition.containers.iter().flat_map(|container| &container.ports));
        let of_apps = member.local_addresses().into_iter();
        let of_apps = of_apps.filter(|(container, _)| apps.iter().any(|app| app.name == *container));
        named.extend(of_apps.map(|(container, address)| NamedAddress { container, address }));
    }
    (named, ports)
}

impl std::fmt::Display for NamedAddress<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of container {} names {}", self.address.variable, self.container, self.address)
    }
}

impl NamedAddress<'_> {
    /// Why nothing listens at the address, or perhaps not, although its port is the upstream's.
    fn misses(&self, upstream: &RegisteredUpstream) -> Option<PathLine> {
        let listens = address(upstream);
        let is_at_v4 = listens == LocalHost::V4.as_str() || listens == Ipv4Addr::UNSPECIFIED.to_string();
        let is_at_v6 = ["::1", "::"].contains(&listens);
        let possible =
            |why: &str| Some(PathLine::possible(PLACE, format!("{self}, and the upstream listens on {listens}{why}")));
        match self.address.host {
            LocalHost::V6 if is_at_v6 => None,
            LocalHost::V4 if is_at_v4 => None,
            // Both addresses, as a resolver may try them.
            LocalHost::Name if listens == "::" => None,
            LocalHost::Name if is_at_v4 => {
                let change = format!("Name 127.0.0.1 instead of localhost in {}", self.address.variable);
                possible(": localhost may mean ::1 first, and some clients try no other address")
                    .map(|line| line.changed_by(change))
            }
            _ => possible(""),
        }
    }
}
