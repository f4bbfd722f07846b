//! Borders that a request crosses: to a peer, another datacenter or another partition, and the mesh gateways that it needs there.

use std::collections::{BTreeMap, BTreeSet};

use consul::{ChainTarget, ConnectProxy, DiscoveryChain, ExportedService};
use mesh::tenancy::{Tenancy, TenancyName};

use crate::{
    concurrency::concurrently_in_order,
    path::{Answer, MeshReading, PathReader, ServiceAt, SourceReading},
};

/// A datacenter and a partition, whose mesh gateways are asked about. They are in the namespace `default`. `None` is the datacenter
/// that answers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GatewayPlace {
    pub tenancy: Tenancy,
    pub datacenter: Option<String>,
}

/// How requests cross a border: <https://developer.hashicorp.com/consul/docs/east-west/mesh-gateway#modes>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewayMode {
    /// The caller's proxies connect to the destination's proxies.
    Direct,
    /// They connect to a gateway of their own place, and this to one of the other.
    Local,
    /// They connect to a gateway of the other place.
    Remote,
}

/// What is on the other side of a border.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beyond {
    /// Another cluster, whose gateways Consul does not list here.
    Peer(String),
    Datacenter(String),
    Partition(TenancyName),
}

/// A border between the caller and a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Border {
    pub beyond: Beyond,
    pub mode: GatewayMode,
    /// The places whose gateways requests pass, in their order.
    pub gateways: Vec<GatewayPlace>,
}

/// Where the caller is.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    pub source: &'a SourceReading,
    pub mesh: &'a MeshReading,
}

/// What is read of the borders that requests cross.
#[derive(Debug, Clone, Default)]
pub struct BorderReading {
    pub gateways: BTreeMap<GatewayPlace, Answer<Vec<ConnectProxy>>>,
    /// What other partitions export, by their names.
    pub exports: BTreeMap<TenancyName, Answer<Vec<ExportedService>>>,
}

impl Origin<'_> {
    /// The datacenter of the caller. A chain that no datacenter was named for was compiled there.
    pub fn datacenter<'s>(&'s self, asked: &ServiceAt, chain: Option<&'s DiscoveryChain>) -> Option<&'s str> {
        let compiled = chain.filter(|_| asked.datacenter.is_none());
        match &self.mesh.datacenter {
            Ok(datacenter) => Some(&datacenter.name),
            Err(_) => compiled.map(|chain| chain.datacenter.as_str()),
        }
    }

    /// The service of a target of the chain of a service. Its datacenter is named only if it is not the caller's.
    pub fn service_of(&self, asked: &ServiceAt, chain: Option<&DiscoveryChain>, target: &ChainTarget) -> ServiceAt {
        let service = asked.of_target(target);
        let is_own = service.datacenter.as_deref() == self.datacenter(asked, chain);
        if is_own { service.everywhere() } else { service }
    }

    /// The border before a target of the chain of a service; `None` if it is in the caller's own place.
    pub fn border(&self, asked: &ServiceAt, chain: &DiscoveryChain, target: &ChainTarget) -> Option<Border> {
        let service = asked.of_target(target);
        let home = &self.source.service.tenancy;
        let own = GatewayPlace { tenancy: home.home(), datacenter: None };
        if let Some(peer) = service.peer {
            let mode = self.mode_to_peer(asked);
            let gateways = if mode == GatewayMode::Local { vec![own] } else { Vec::new() };
            return Some(Border { beyond: Beyond::Peer(peer), mode, gateways });
        }
        let elsewhere =
            service.datacenter.filter(|name| self.datacenter(asked, Some(chain)).is_some_and(|own| own != name));
        let partition = service.tenancy.partition().filter(|_| service.tenancy.place()[0] != home.place()[0]);
        let beyond = match (&elsewhere, partition) {
            (Some(datacenter), _) => Beyond::Datacenter(datacenter.clone()),
            (None, Some(partition)) => Beyond::Partition(partition.clone()),
            (None, None) => return None,
        };
        let other = GatewayPlace { tenancy: service.tenancy.home(), datacenter: elsewhere };
        let (mode, gateways) = match target.gateway_mode() {
            "local" => (GatewayMode::Local, vec![own, other]),
            "remote" => (GatewayMode::Remote, vec![other]),
            _ => (GatewayMode::Direct, Vec::new()),
        };
        Some(Border { beyond, mode, gateways })
    }

    /// Consul treats every mode but `local` as `remote`.
    fn mode_to_peer(&self, asked: &ServiceAt) -> GatewayMode {
        let of_upstream = self.source.upstreams_to(asked).find_map(|upstream| upstream.overrides().mesh_gateway_mode);
        let of_all = self.mesh.proxy_defaults.as_ref().ok().and_then(Option::as_ref);
        let mode = of_upstream.or_else(|| of_all.map(|defaults| defaults.gateway_mode().to_owned()));
        if mode.as_deref() == Some("local") { GatewayMode::Local } else { GatewayMode::Remote }
    }
}

impl PathReader<'_> {
    /// What borders before the targets of a chain depend on: two requests or more for each place whose gateways are passed, and one for
    /// each other partition (two before Consul 1.17.3). None without a border.
    pub(crate) async fn borders(&self, origin: Origin<'_>, asked: &ServiceAt, chain: &DiscoveryChain) -> BorderReading {
        let borders: Vec<Border> =
            chain.targets.values().filter_map(|target| origin.border(asked, chain, target)).collect();
        let places: BTreeSet<GatewayPlace> = borders.iter().flat_map(|border| border.gateways.clone()).collect();
        let gateways = places.into_iter().map(|place| async move {
            let gateways = self.gateways(&place).await;
            (place, gateways)
        });
        let gateways = concurrently_in_order(gateways).await.into_iter().collect();
        let partitions: BTreeSet<TenancyName> = borders
            .into_iter()
            .filter_map(|border| match border.beyond {
                Beyond::Partition(partition) => Some(partition),
                Beyond::Peer(_) | Beyond::Datacenter(_) => None,
            })
            .collect();
        let exports = partitions.into_iter().map(|partition| async move {
            let exported = self.exports(&partition).await;
            (partition, exported)
        });
        BorderReading { gateways, exports: concurrently_in_order(exports).await.into_iter().collect() }
    }
}
