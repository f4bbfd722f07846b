//! What consul-ecs registers in Consul's catalog for one task: the service and its sidecar proxy, or the gateway.
//!
//! `mesh-init` and `control-plane` register when a task starts, and never again. Their registrations depend only on the
//! configuration of the task and on what the task metadata endpoint says about it, so that they can be computed again.
//!
//! Source: requests of 0.7.3, 0.8.1, 0.9.0 and 0.10.0, recorded in `tests/recordings/consul-ecs`, and
//! <https://developer.hashicorp.com/consul/docs/ecs/reference/configuration-reference>

use std::{collections::BTreeMap, net::Ipv4Addr};

use serde_json::Value;

use super::{
    config::{Instance, MeshConfig, ServiceInMesh, in_config},
    container::names::DATAPLANE,
    fields::{
        Address, Expose, Gateway, GatewayKind, GatewayProxy, MeshGateway, OpaqueConfig, ServiceProxy, Upstream, Weights,
    },
    ids::{check_id, instance_id, sidecar_of},
    ports,
};
use crate::{
    arn::{ClusterArn, Family, TaskArn},
    catalog::{CheckStatus, HealthCheck},
    names::{InvalidField, ServiceName},
    tenancy::Tenancy,
};

/// The field of the metadata with the task's ID.
pub const TASK_ID_META: &str = "task-id";
/// The tagged address by which transparent proxies recognise what an application sends to the service.
const VIRTUAL: &str = "virtual";

/// The registrations of a task: the service and its sidecar proxy, or the gateway. Checks are critical, as `mesh-init`
/// writes them.
///
/// # Errors
/// The name of the service or gateway is not valid in Consul.
pub fn registrations(
    config: &MeshConfig,
    place: &TaskPlace,
    tenancy: &Tenancy,
) -> Result<Vec<Registration>, InvalidField> {
    match &config.instance {
        Instance::Service(service) => service.registrations(config.synced_containers(), place, tenancy),
        Instance::Gateway(gateway) => Ok(vec![gateway.registration(place, tenancy)?]),
    }
}

/// Where and as what a task runs, as the task metadata endpoint says it:
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v4-response.html>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPlace {
    pub arn: TaskArn,
    /// `Cluster`: its ARN is the name of the catalog node.
    pub cluster: ClusterArn,
    /// `Family`: the service's name if the configuration has none.
    pub family: Family,
    /// The first IPv4 address of its containers.
    pub address: Ipv4Addr,
    pub zone: Option<String>,
    /// `AWS_REGION` in the environment of the container, which Fargate sets and EC2 does not.
    pub region: Option<String>,
}

/// `Kind`: what a service instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstanceKind {
    Typical,
    ConnectProxy,
    Gateway(GatewayKind),
}

/// An address with a port, for `TaggedAddresses`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAddress {
    /// The IP address or host name.
    pub address: String,
    pub port: u16,
}

/// `Locality`: where an instance runs, for locality-aware routing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locality {
    pub region: String,
    pub zone: Option<String>,
}

/// One registration: a service instance with its checks, as the body of
/// <https://developer.hashicorp.com/consul/api-docs/catalog#register-entity>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The catalog node: the cluster's ARN.
    pub node: String,
    /// The address of the node if it does not exist yet: the task's.
    pub address: String,
    pub id: String,
    pub name: String,
    pub kind: InstanceKind,
    /// The address of the instance: the task's, or the LAN address that a gateway is configured with.
    pub service_address: String,
    /// The port of the instance; 0 if it has none.
    pub port: u16,
    pub tags: Vec<String>,
    /// Its metadata, with the task's ID and ARN.
    pub meta: BTreeMap<String, String>,
    /// Its weights in DNS answers, if configured.
    pub weights: Option<Weights>,
    pub enable_tag_override: bool,
    /// `lan` and `wan` of a gateway, `virtual` with transparent proxy.
    pub tagged_addresses: BTreeMap<&'static str, ServiceAddress>,
    /// The configuration of a sidecar proxy or gateway.
    pub proxy: Option<Proxy>,
    /// Where a service or its sidecar proxy runs, if the region is known. `mesh-init` registers none for a gateway.
    pub locality: Option<Locality>,
    pub checks: Vec<HealthCheck>,
    pub tenancy: Tenancy,
}

/// `Proxy` of a registration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxy {
    /// The service of a sidecar proxy; gateways have none.
    pub destination: Option<ProxyDestination>,
    /// `Config`: what is configured for Envoy.
    pub config: OpaqueConfig,
    /// The services that the proxy listens for.
    pub upstreams: Vec<Upstream>,
    /// How it reaches other datacenters.
    pub mesh_gateway: Option<MeshGateway>,
    /// The paths that it serves without mutual TLS.
    pub expose: Option<Expose>,
    /// Whether the proxy's mode is `transparent`.
    pub is_transparent: bool,
}

/// The service whose traffic a sidecar proxy takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyDestination {
    /// `DestinationServiceID`.
    pub service_id: String,
    /// `DestinationServiceName`.
    pub service_name: String,
    /// `LocalServiceAddress`, if configured: Consul's default is `127.0.0.1`.
    pub address: Option<String>,
    /// `LocalServicePort`; 0 if the service has none.
    pub port: u16,
}

impl TaskPlace {
    /// The configured name, or else the family in lower case. `path` is where the configuration has the name.
    fn name(&self, configured: Option<&str>, path: &str) -> Result<ServiceName, InvalidField> {
        match configured.filter(|name| !name.is_empty()) {
            Some(name) => name.parse::<ServiceName>().map_err(|e| e.in_field(in_config(path))),
            None => ServiceName::from_family(self.family.as_str()),
        }
    }

    /// The locality of a service, if the region is known.
    fn locality(&self) -> Option<Locality> {
        let region = self.region.clone().filter(|region| !region.is_empty())?;
        Some(Locality { region, zone: self.zone.clone() })
    }

    /// The metadata of all instances of the task; configured values replace consul-ecs' own.
    fn meta(&self, configured: Option<&BTreeMap<String, String>>) -> BTreeMap<String, String> {
        let own = [(TASK_ID_META, self.arn.id().as_str()), ("task-arn", self.arn.as_str()), ("source", "consul-ecs")];
        let mut meta: BTreeMap<_, _> = own.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        meta.extend(configured.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
        meta
    }
}

impl Registration {
    /// An instance `name` of the task, with nothing that is configured.
    fn new(name: &ServiceName, place: &TaskPlace, tenancy: &Tenancy) -> Self {
        Self {
            node: place.cluster.to_string(),
            address: place.address.to_string(),
            id: instance_id(name.as_str(), place.arn.id()),
            name: name.to_string(),
            kind: InstanceKind::Typical,
            service_address: place.address.to_string(),
            port: 0,
            tags: Vec::new(),
            meta: place.meta(None),
            weights: None,
            enable_tag_override: false,
            tagged_addresses: BTreeMap::new(),
            proxy: None,
            locality: None,
            checks: Vec::new(),
            tenancy: tenancy.clone(),
        }
    }
}

impl InstanceKind {
    /// The kind as in Consul's API; `None` for a service, whose kind is not sent.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Typical => None,
            Self::ConnectProxy => Some("connect-proxy"),
            Self::Gateway(kind) => Some(kind.as_str()),
        }
    }
}

impl ServiceInMesh {
    /// The service and its sidecar proxy.
    fn registrations(
        &self,
        synced: &[String],
        place: &TaskPlace,
        tenancy: &Tenancy,
    ) -> Result<Vec<Registration>, InvalidField> {
        let fields = &self.service;
        let name = place.name(fields.name.as_deref(), "service.name")?;
        let mut service = Registration {
            port: fields.port,
            tags: fields.tags.clone().unwrap_or_default(),
            meta: place.meta(fields.meta.as_ref()),
            weights: fields.weights,
            locality: place.locality(),
            enable_tag_override: fields.enable_tag_override.unwrap_or_default(),
            ..Registration::new(&name, place, tenancy)
        };
        if self.is_transparent {
            let address = ServiceAddress { address: place.address.to_string(), port: fields.port };
            service.tagged_addresses.insert(VIRTUAL, address);
        }
        let sidecar = self.sidecar(&service);
        service.checks = checks_of_service(&service, synced);
        Ok(vec![service, sidecar])
    }

    /// The sidecar proxy has the tags, metadata, weights and addresses of its service.
    fn sidecar(&self, service: &Registration) -> Registration {
        let proxy = self.proxy.sidecar(&service.id, &service.name, service.port);
        let mut sidecar = Registration {
            id: sidecar_of(&service.id),
            name: sidecar_of(&service.name),
            kind: InstanceKind::ConnectProxy,
            port: self.proxy.port(),
            proxy: Some(Proxy { is_transparent: self.is_transparent, ..proxy }),
            ..service.clone()
        };
        sidecar.checks = vec![check_of_dataplane(&sidecar)];
        sidecar
    }
}

impl ServiceProxy {
    /// The port of the sidecar proxy.
    fn port(&self) -> u16 {
        self.public_listener_port.filter(|port| *port != 0).unwrap_or(ports::PUBLIC_LISTENER)
    }

    /// The sidecar proxy of the service `id` called `name`, which listens on `port`.
    fn sidecar(&self, id: &str, name: &str, port: u16) -> Proxy {
        let address = self.local_service_address.clone().filter(|address| !address.is_empty());
        Proxy {
            destination: Some(ProxyDestination {
                service_id: id.to_owned(),
                service_name: name.to_owned(),
                address,
                port,
            }),
            config: self.config.clone().unwrap_or_default(),
            upstreams: self.upstreams.clone().unwrap_or_default(),
            mesh_gateway: self.mesh_gateway,
            expose: self.expose.clone(),
            is_transparent: false,
        }
    }
}

impl Gateway {
    /// The gateway. Its containers are not synced, but for the dataplane.
    fn registration(&self, place: &TaskPlace, tenancy: &Tenancy) -> Result<Registration, InvalidField> {
        let name = place.name(self.name.as_deref(), "gateway.name")?;
        let config = |proxy: &GatewayProxy| proxy.config.clone().unwrap_or_default();
        // mesh-init reads the addresses of mesh gateways only.
        let is_mesh_gateway = self.kind == GatewayKind::MeshGateway;
        let [lan, wan] = [&self.lan_address, &self.wan_address].map(|it| it.as_ref().filter(|_| is_mesh_gateway));
        let mut gateway = Registration {
            kind: InstanceKind::Gateway(self.kind),
            port: lan.map_or(ports::GATEWAY, Address::port),
            tags: self.tags.clone().unwrap_or_default(),
            meta: place.meta(self.meta.as_ref()),
            proxy: self.proxy.as_ref().map(|proxy| Proxy { config: config(proxy), ..Proxy::default() }),
            ..Registration::new(&name, place, tenancy)
        };
        if let Some(lan) = lan.and_then(Address::tagged) {
            gateway.service_address.clone_from(&lan.address);
            gateway.tagged_addresses.insert("lan", lan);
        }
        if let Some(wan) = wan.and_then(Address::tagged) {
            gateway.tagged_addresses.insert("wan", wan);
        }
        gateway.checks = vec![check_of_dataplane(&gateway)];
        Ok(gateway)
    }
}

impl Address {
    fn port(&self) -> u16 {
        self.port.filter(|port| *port != 0).unwrap_or(ports::GATEWAY)
    }

    /// The tagged address; `None` if only a port is configured.
    fn tagged(&self) -> Option<ServiceAddress> {
        let address = self.address.clone().filter(|address| !address.is_empty())?;
        Some(ServiceAddress { address, port: self.port() })
    }
}

impl Proxy {
    /// Whether the configuration of the proxy or of an upstream has `null` inside a list. Consul accepts it with status 200, and
    /// from then on answers no read of that service or node (seen with 1.8.7 and 1.22).
    pub fn has_null_in_list(&self) -> bool {
        let of_upstreams = self.upstreams.iter().filter_map(|upstream| upstream.config.as_ref());
        of_upstreams.chain([&self.config]).any(|config| config.0.values().any(has_null_in_list))
    }
}

fn has_null_in_list(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| item.is_null() || has_null_in_list(item)),
        Value::Object(fields) => fields.values().any(has_null_in_list),
        _ => false,
    }
}

/// The checks of a service: one for each synced container, and one for the dataplane. `consul-dataplane` among the
/// synced containers has the ID of the latter, which Consul keeps as the last one of the write.
fn checks_of_service(service: &Registration, synced: &[String]) -> Vec<HealthCheck> {
    let synced = synced.iter().filter(|container| *container != DATAPLANE);
    synced.map(|container| check_of_container(service, container)).chain([check_of_dataplane(service)]).collect()
}

/// The check of the dataplane.
fn check_of_dataplane(instance: &Registration) -> HealthCheck {
    HealthCheck {
        name: "Consul dataplane readiness".to_owned(),
        notes: format!("consul-ecs created and updates this check to indicate {DATAPLANE} container's readiness"),
        ..check_of_container(instance, DATAPLANE)
    }
}

fn check_of_container(instance: &Registration, container: &str) -> HealthCheck {
    let Registration { node, id, name, tenancy, .. } = instance;
    synced_check(node, (id, name), tenancy, container)
}

/// The check of a synced container at the instance with this ID and name: critical, as `mesh-init` registers it.
pub fn synced_check(node: &str, (id, name): (&str, &str), tenancy: &Tenancy, container: &str) -> HealthCheck {
    HealthCheck {
        node: node.to_owned(),
        id: check_id(id, container),
        name: "Consul ECS health check synced".to_owned(),
        kind: "consul-ecs-health-check".to_owned(),
        notes: format!(
            "consul-ecs created and updates this check because the {container} container has an ECS health check."
        ),
        service_id: id.to_owned(),
        service_name: name.to_owned(),
        status: CheckStatus::Critical,
        output: format!("Service {name} is not ready"),
        modify_index: 0,
        tenancy: tenancy.clone(),
    }
}
