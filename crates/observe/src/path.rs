//! Reads what decides whether a request from one service reaches another: what the proxies of the first listen for, what the name
//! of the second means to them, who may call it, and which proxies take the request. What could not be read stops nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
};

use consul::{
    CaRoot, ChainOverrides, ChainTarget, ConnectProxy, Datacenter, DiscoveryChain, ExportedService, GatewayRoute,
    HttpConsul, Intention, IntentionEnd, Logins as _, MeshEntry, Peering, ProxyDefaults, ProxyPlace,
    RegisteredUpstream, ServiceLimits,
};
use mesh::tenancy::{Tenancy, TenancyName};

use crate::{
    border::{BorderReading, GatewayPlace, Origin},
    concurrency::concurrently_in_order,
    inspected::InspectionError,
    inspection::Inspector,
};

/// What was read, or why it was not.
pub type Answer<T> = Result<T, InspectionError>;

/// The name of a service, and where it is. `None` is the datacenter that answers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServiceAt {
    pub name: String,
    pub tenancy: Tenancy,
    pub datacenter: Option<String>,
    /// The peer that exports it.
    pub peer: Option<String>,
}

/// What is read of the mesh once, whichever services are asked about.
#[derive(Debug, Clone)]
pub struct MeshReading {
    pub datacenter: Answer<Datacenter>,
    pub roots: Answer<Vec<CaRoot>>,
    /// The config entry `mesh` of the caller's partition; `None` if Consul has no such entry.
    pub entry: Answer<Option<MeshEntry>>,
    /// The config entry `proxy-defaults` of the caller's partition; `None` if Consul has no such entry.
    pub proxy_defaults: Answer<Option<ProxyDefaults>>,
}

/// What is read of the service that calls.
#[derive(Debug, Clone)]
pub struct SourceReading {
    pub service: ServiceAt,
    pub proxies: Answer<Vec<ConnectProxy>>,
    pub limits: Answer<Option<ServiceLimits>>,
    /// The routes of the API gateway of this name, if no proxy of the service is registered.
    pub routes: Option<Answer<Vec<GatewayRoute>>>,
}

/// What is read of the service that is called.
#[derive(Debug, Clone)]
pub struct DestinationReading {
    pub service: ServiceAt,
    /// What its name means to the proxies of the caller.
    pub chain: Answer<DiscoveryChain>,
    /// The proxies of each target of the chain.
    pub proxies: BTreeMap<String, Answer<Vec<ConnectProxy>>>,
    /// The intentions about each service of the chain, in order of precedence.
    pub intentions: BTreeMap<ServiceAt, Answer<Vec<Intention>>>,
    /// The names of all services, if a target has no proxy.
    pub names: Option<Answer<Vec<String>>>,
    /// The peering, if the service is a peer's; `None` in it if there is no such peering.
    pub peering: Option<Answer<Option<Peering>>>,
    pub limits: Answer<Option<ServiceLimits>>,
    pub borders: BorderReading,
}

impl ServiceAt {
    /// Whether an upstream of a proxy of `source` leads to this service. A name that it leaves out is the proxy's.
    pub fn is_destination_of(&self, upstream: &RegisteredUpstream, source: &Self) -> bool {
        let [partition, namespace] = self.tenancy.place();
        let [own_partition, own_namespace] = source.tenancy.place();
        let or = |name: &str, own: &str| if name.is_empty() { own.to_owned() } else { name.to_owned() };
        upstream.is_of_service()
            && upstream.destination_peer == self.peer.as_deref().unwrap_or_default()
            && upstream.destination_name == self.name
            && or(&upstream.destination_partition, own_partition) == partition
            && or(&upstream.destination_namespace, own_namespace) == namespace
            && self.datacenter.as_deref().unwrap_or_default() == upstream.datacenter
    }

    /// The service of a target of its chain.
    #[must_use]
    pub fn of_target(&self, target: &ChainTarget) -> Self {
        let [datacenter, peer] =
            [&target.datacenter, &target.peer].map(|name| Some(name.clone()).filter(|name| !name.is_empty()));
        Self { name: target.service.clone(), tenancy: target.tenancy(&self.tenancy), datacenter, peer }
    }

    /// The service in every datacenter: intentions are about all of them.
    #[must_use]
    pub fn everywhere(&self) -> Self {
        Self { datacenter: None, ..self.clone() }
    }
}

impl SourceReading {
    /// The upstreams of its proxies that lead to a service.
    pub fn upstreams_to<'a>(&'a self, destination: &'a ServiceAt) -> impl Iterator<Item = &'a RegisteredUpstream> {
        let upstreams = self.proxies.iter().flatten().flat_map(|proxy| &proxy.upstreams);
        upstreams.filter(|upstream| destination.is_destination_of(upstream, &self.service))
    }

    /// The addresses of its proxies.
    pub fn addresses(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.proxies.iter().flatten().filter_map(|proxy| proxy.address.parse().ok())
    }
}

impl DestinationReading {
    /// The addresses of the proxies of all targets, and of the gateways before them.
    pub fn addresses(&self) -> impl Iterator<Item = Ipv4Addr> {
        let proxies = self.proxies.values().flatten().flatten();
        let gateways = self.borders.gateways.values().flatten().flatten();
        let of_wan = |proxy: &ConnectProxy| proxy.wan.as_ref().map(|(address, _)| address.clone());
        let addresses = proxies.chain(gateways).flat_map(move |proxy| [Some(proxy.address.clone()), of_wan(proxy)]);
        addresses.flatten().filter_map(|address| address.parse().ok())
    }
}

/// Reads what paths through the mesh depend on.
pub struct PathReader<'a> {
    consul: &'a HttpConsul,
    /// Whether the token may read the catalog. Consul 1.8 says of a service that the token may not read that it has no proxy.
    catalog: Answer<()>,
}

impl<'a> Inspector<'a> {
    /// A reader of paths, which knows whether the token may read the catalog.
    pub async fn paths(&self) -> PathReader<'a> {
        PathReader { consul: self.consul, catalog: self.tenancies().await.map(drop) }
    }
}

impl PathReader<'_> {
    /// One request.
    pub async fn datacenter(&self) -> Answer<Datacenter> {
        Ok(self.consul.datacenter().await?)
    }

    /// Four requests.
    pub async fn mesh(&self, tenancy: &Tenancy) -> MeshReading {
        let (datacenter, roots, entry, proxy_defaults) = tokio::join!(
            self.datacenter(),
            self.consul.ca_roots(),
            self.consul.mesh_entry(tenancy),
            self.consul.proxy_defaults(tenancy)
        );
        let (roots, entry) = (roots.map_err(Into::into), entry.map_err(Into::into));
        MeshReading { datacenter, roots, entry, proxy_defaults: proxy_defaults.map_err(Into::into) }
    }

    /// Two requests; two more for the routes of an API gateway, if no proxy is registered.
    pub async fn source(&self, service: &ServiceAt) -> SourceReading {
        let (proxies, limits) = tokio::join!(self.proxies(service, ""), self.limits(service));
        let routes = match proxies.as_deref() {
            Ok([]) => Some(self.consul.routes_of(&service.name, &service.tenancy).await.map_err(Into::into)),
            Ok(_) | Err(_) => None,
        };
        SourceReading { service: service.clone(), proxies, limits, routes }
    }

    /// One request for its limits, one for the chain or the peering, one for each target, and one for each service among the targets;
    /// one more for the names of all services, if a target has no proxy; and the requests of [`Self::borders`]. The caller's upstream has the
    /// `overrides`.
    pub async fn destination(
        &self,
        service: &ServiceAt,
        overrides: &ChainOverrides,
        origin: Origin<'_>,
    ) -> DestinationReading {
        let ServiceAt { name, tenancy, datacenter, peer } = service;
        let chain = match peer {
            Some(peer) => Ok(DiscoveryChain::of_peer(name, peer)),
            None => self.consul.discovery_chain(name, tenancy, datacenter.as_deref(), overrides).await,
        };
        let targets: Vec<(&String, &ChainTarget)> = chain.iter().flat_map(|chain| &chain.targets).collect();
        let reads = targets.iter().map(|(id, target)| async move {
            ((*id).clone(), self.proxies(&service.of_target(target), &target.subset.filter).await)
        });
        let proxies: BTreeMap<String, Answer<Vec<ConnectProxy>>> =
            concurrently_in_order(reads).await.into_iter().collect();
        // The intentions about a service of a peer are the peer's.
        let own = targets.iter().filter(|(_, target)| target.peer.is_empty());
        let services: BTreeSet<ServiceAt> = own.map(|(_, target)| service.of_target(target).everywhere()).collect();
        let reads = services.into_iter().map(|service| async move {
            let intentions = self.intentions(IntentionEnd::Destination, &service).await;
            (service, intentions)
        });
        let intentions = concurrently_in_order(reads).await.into_iter().collect();
        let is_absent = proxies.values().any(|proxies| proxies.as_ref().is_ok_and(Vec::is_empty));
        let names = if is_absent && peer.is_none() { Some(self.names(tenancy).await) } else { None };
        let peering = match peer {
            Some(peer) => Some(self.consul.peering(peer, tenancy).await.map_err(Into::into)),
            None => None,
        };
        let limits = if peer.is_none() { self.limits(service).await } else { Ok(None) };
        let borders = match &chain {
            Ok(chain) => self.borders(origin, service, chain).await,
            Err(_) => BorderReading::default(),
        };
        let (service, chain) = (service.clone(), chain.map_err(Into::into));
        DestinationReading { service, chain, proxies, intentions, names, peering, limits, borders }
    }

    pub(crate) async fn gateways(&self, place: &GatewayPlace) -> Answer<Vec<ConnectProxy>> {
        self.catalog.clone()?;
        Ok(self.consul.mesh_gateways(&place.tenancy, place.datacenter.as_deref()).await?)
    }

    pub(crate) async fn exports(&self, partition: &TenancyName) -> Answer<Vec<ExportedService>> {
        Ok(self.consul.exported_services(&Tenancy::default_namespace_of(partition.clone())).await?)
    }

    /// The intentions with a service at one end, in order of precedence. One request.
    pub async fn intentions(&self, end: IntentionEnd, service: &ServiceAt) -> Answer<Vec<Intention>> {
        Ok(self.consul.intentions(end, &service.name, &service.tenancy).await?)
    }

    async fn limits(&self, service: &ServiceAt) -> Answer<Option<ServiceLimits>> {
        Ok(self.consul.service_limits(&service.name, &service.tenancy).await?)
    }

    async fn proxies(&self, service: &ServiceAt, filter: &str) -> Answer<Vec<ConnectProxy>> {
        self.catalog.clone()?;
        let place = ProxyPlace { datacenter: service.datacenter.as_deref(), peer: service.peer.as_deref(), filter };
        Ok(self.consul.proxies_of(&service.name, &service.tenancy, place).await?)
    }

    /// The names of the services in a namespace. One request.
    pub async fn names(&self, tenancy: &Tenancy) -> Answer<Vec<String>> {
        self.catalog.clone()?;
        Ok(self.consul.service_names(tenancy).await?)
    }
}
