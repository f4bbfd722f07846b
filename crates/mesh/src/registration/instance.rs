//! A registration: a service instance with its checks.

use std::{collections::BTreeMap, net::Ipv4Addr};

use serde::Deserialize;

use super::{json::in_config, proxy::Proxy};
use crate::{
    arn::{ClusterArn, TaskArn},
    catalog::HealthCheck,
    ecs_config::GatewayKind,
    family::Family,
    field::InvalidField,
    service_name::ServiceName,
    tenancy::Tenancy,
};

/// The field of the metadata with the task's ID.
pub const TASK_ID_META: &str = "task-id";

/// Where and as what a task runs, as the task metadata endpoint says it:
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v4-response.html>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPlace {
    /// `TaskARN`.
    pub arn: TaskArn,
    /// `Cluster`: its ARN is the name of the catalog node.
    pub cluster: ClusterArn,
    /// `Family`: the service's name if the configuration has none.
    pub family: Family,
    /// The first IPv4 address of its containers.
    pub address: Ipv4Addr,
    /// `AvailabilityZone`.
    pub zone: Option<String>,
    /// `AWS_REGION` in the environment of the container, which Fargate sets and EC2 does not.
    pub region: Option<String>,
}

/// `Kind`: what a service instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstanceKind {
    /// A service.
    Typical,
    /// A sidecar proxy.
    ConnectProxy,
    /// A gateway.
    Gateway(GatewayKind),
}

/// An address with a port, for `TaggedAddresses`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAddress {
    /// The IP address or host name.
    pub address: String,
    /// The port.
    pub port: u16,
}

/// `Locality`: where an instance runs, for locality-aware routing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locality {
    /// The AWS region.
    pub region: String,
    /// The availability zone.
    pub zone: Option<String>,
}

/// One registration: a service instance with its checks, as the body of
/// <https://developer.hashicorp.com/consul/api-docs/catalog#register-entity>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The catalog node: the cluster's ARN.
    pub node: String,
    /// The address of the node if it does not exist yet: that of the task.
    pub address: String,
    /// The instance's ID: `<name>-<task id>`, with `-sidecar-proxy` for a sidecar proxy.
    pub id: String,
    /// The service's name.
    pub name: String,
    /// What the instance is.
    pub kind: InstanceKind,
    /// The address of the instance: that of the task, or the LAN address that a gateway is configured with.
    pub service_address: String,
    /// The port of the instance; 0 if it has none.
    pub port: u16,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its metadata, with the task's ID and ARN.
    pub meta: BTreeMap<String, String>,
    /// Its weights in DNS answers, if configured.
    pub weights: Option<Weights>,
    /// `EnableTagOverride`.
    pub enable_tag_override: bool,
    /// `lan` and `wan` of a gateway, `virtual` with transparent proxy.
    pub tagged_addresses: BTreeMap<&'static str, ServiceAddress>,
    /// The configuration of a sidecar proxy or gateway.
    pub proxy: Option<Proxy>,
    /// Where a service or its sidecar proxy runs, if the region is known. `mesh-init` registers none for a gateway.
    pub locality: Option<Locality>,
    /// The checks of the instance.
    pub checks: Vec<HealthCheck>,
    /// Where it is registered.
    pub tenancy: Tenancy,
}

/// `Weights` of a registration: `service.weights` in
/// <https://developer.hashicorp.com/consul/docs/ecs/reference/configuration-reference>
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// The weight while all checks pass.
    pub passing: i64,
    /// The weight while a check warns.
    pub warning: i64,
}

impl TaskPlace {
    /// The configured name; the family in lower case if there is none. `path` is that of the name in the configuration.
    pub(super) fn name(&self, configured: Option<&str>, path: &str) -> Result<ServiceName, InvalidField> {
        match configured.filter(|name| !name.is_empty()) {
            Some(name) => name.parse::<ServiceName>().map_err(|e| e.in_field(in_config(path))),
            None => ServiceName::from_family(self.family.as_str()),
        }
    }

    /// The locality of a service, if the region is known.
    pub(super) fn locality(&self) -> Option<Locality> {
        let region = self.region.clone().filter(|region| !region.is_empty())?;
        Some(Locality { region, zone: self.zone.clone() })
    }

    /// The metadata of all instances of the task; configured values replace those of consul-ecs.
    pub(super) fn meta(&self, configured: Option<&BTreeMap<String, String>>) -> BTreeMap<String, String> {
        let own = [(TASK_ID_META, self.arn.id().as_str()), ("task-arn", self.arn.as_str()), ("source", "consul-ecs")];
        let mut meta: BTreeMap<_, _> = own.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        meta.extend(configured.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
        meta
    }
}

impl Registration {
    /// An instance `name` of the task, with nothing that is configured.
    pub(super) fn new(name: &ServiceName, place: &TaskPlace, tenancy: &Tenancy) -> Self {
        Self {
            node: place.cluster.to_string(),
            address: place.address.to_string(),
            id: format!("{name}-{}", place.arn.id()),
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
            Self::Gateway(GatewayKind::ApiGateway) => Some("api-gateway"),
            Self::Gateway(GatewayKind::MeshGateway) => Some("mesh-gateway"),
            Self::Gateway(GatewayKind::TerminatingGateway) => Some("terminating-gateway"),
        }
    }
}
