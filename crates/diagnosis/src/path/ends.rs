//! Which services a question is about.

use std::collections::BTreeSet;

use audit::spelling::nearest;
use mesh::{identity::MeshService, tenancy::Tenancy};
use observe::{GatewayRoute, Inspection, Intention, IntentionAction, RegisteredUpstream, ServiceAt, SourceReading};

/// Where the destination is, if the question says it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DestinationPlace {
    /// Its partition and namespace (Enterprise).
    pub tenancy: Option<Tenancy>,
    pub datacenter: Option<String>,
    pub peer: Option<String>,
}

/// The services in Consul that tasks or an ECS service of this name belong to.
pub fn services_named(name: &str, observed: &Inspection) -> Vec<ServiceAt> {
    let mut found: BTreeSet<&MeshService> = BTreeSet::new();
    for cluster in &observed.clusters {
        let of_services = cluster.services.iter().map(|it| (Some(&it.state.name), &it.identity.service));
        let of_tasks = cluster.tasks.iter().map(|it| (it.task.placement.service.as_ref(), &it.identity.service));
        let is_it = |(ecs, service): &(Option<&String>, &MeshService)| {
            service.name.as_str() == name || ecs.is_some_and(|ecs| ecs == name)
        };
        found.extend(of_services.chain(of_tasks).filter(is_it).map(|(_, service)| service));
    }
    let at = |service: &MeshService| ServiceAt {
        name: service.name.to_string(),
        tenancy: service.tenancy.clone(),
        datacenter: None,
        peer: None,
    };
    found.into_iter().map(at).collect()
}

/// The name of a service or an ECS service that is near a name which nothing has.
pub fn nearest_service<'a>(name: &str, observed: &'a Inspection) -> Option<&'a str> {
    let clusters = || observed.clusters.iter();
    let of_services = clusters().flat_map(|cluster| &cluster.services);
    let of_services = of_services.flat_map(|it| [it.state.name.as_str(), it.identity.service.name.as_str()]);
    let of_tasks = clusters().flat_map(|cluster| &cluster.tasks).map(|it| it.identity.service.name.as_str());
    nearest(name, of_services.chain(of_tasks))
}

/// The service that `source` means by a name: where the question says, or where its only upstream of this name leads, or in its own place.
pub fn destination_named(name: &str, place: &DestinationPlace, source: &SourceReading) -> ServiceAt {
    let upstreams = source.proxies.iter().flatten().flat_map(|proxy| &proxy.upstreams);
    let meant: BTreeSet<ServiceAt> = upstreams
        .filter(|upstream| upstream.destination_name == name && upstream.is_of_service())
        .map(|upstream| destination_of(upstream, &source.service))
        .collect();
    let by_upstream = if meant.len() == 1 { meant.into_iter().next() } else { None };
    let meant = by_upstream.unwrap_or_else(|| ServiceAt { name: name.to_owned(), ..source.service.clone() });
    ServiceAt {
        tenancy: place.tenancy.clone().unwrap_or(meant.tenancy),
        datacenter: place.datacenter.clone().or(meant.datacenter),
        peer: place.peer.clone().or(meant.peer),
        name: meant.name,
    }
}

/// Every service that `source` may or wants to reach: by an upstream, by a route of an API gateway, or by an intention that names
/// both. `intentions` are those with it as the source.
pub fn destinations(source: &SourceReading, intentions: &[Intention]) -> Vec<ServiceAt> {
    let upstreams = source.proxies.iter().flatten().flat_map(|proxy| &proxy.upstreams);
    let wanted = upstreams.filter(|upstream| upstream.is_of_service());
    let wanted = wanted.map(|upstream| destination_of(upstream, &source.service));
    let is_allowed = |intention: &&Intention| {
        intention.names_destination()
            && intention.action != Some(IntentionAction::Deny)
            && intention.is_from(&source.service.name, &source.service.tenancy)
    };
    let allowed = intentions.iter().filter(is_allowed).map(|intention| ServiceAt {
        name: intention.destination_name.clone(),
        tenancy: tenancy(&intention.destination_partition, &intention.destination_namespace, &source.service.tenancy),
        datacenter: None,
        peer: None,
    });
    let routed = source.routes.iter().flatten().flatten().flat_map(GatewayRoute::services);
    let routed = routed.map(|name| ServiceAt { name: name.to_owned(), ..source.service.clone() });
    let all: BTreeSet<ServiceAt> = wanted.chain(routed).chain(allowed).collect();
    all.into_iter().collect()
}

/// Where an upstream leads.
fn destination_of(upstream: &RegisteredUpstream, source: &ServiceAt) -> ServiceAt {
    let given = |name: &String| Some(name.clone()).filter(|name| !name.is_empty());
    ServiceAt {
        name: upstream.destination_name.clone(),
        tenancy: tenancy(&upstream.destination_partition, &upstream.destination_namespace, &source.tenancy),
        datacenter: given(&upstream.datacenter),
        peer: given(&upstream.destination_peer),
    }
}

/// A tenancy by its names. `own` gives the empty ones, and the ones that Community Edition has.
fn tenancy(partition: &str, namespace: &str, own: &Tenancy) -> Tenancy {
    let Tenancy::Enterprise { partition: own_partition, namespace: own_namespace } = own else { return own.clone() };
    Tenancy::Enterprise {
        partition: partition.parse().unwrap_or_else(|_| own_partition.clone()),
        namespace: namespace.parse().unwrap_or_else(|_| own_namespace.clone()),
    }
}
