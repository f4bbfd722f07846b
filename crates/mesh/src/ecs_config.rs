//! `CONSUL_ECS_CONFIG_JSON`: the configuration of consul-ecs, as far as it names the service or gateway of a task.
//!
//! Source: <https://developer.hashicorp.com/consul/docs/ecs/reference/configuration-reference>

use std::str::FromStr;

use serde::Deserialize;

use super::field::InvalidField;

/// The environment variable with the configuration, on `consul-ecs-mesh-init` or `consul-ecs-control-plane`.
pub const CONFIG_VARIABLE: &str = "CONSUL_ECS_CONFIG_JSON";
/// The environment variable with the region, which Fargate sets in each container. `mesh-init` registers a locality only
/// where it is set.
pub const REGION_VARIABLE: &str = "AWS_REGION";

/// The kinds of gateway that Consul on ECS runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GatewayKind {
    /// Traffic into the mesh.
    ApiGateway,
    /// Traffic between datacenters, partitions and peers.
    MeshGateway,
    /// Traffic out of the mesh.
    TerminatingGateway,
}

/// The part of the configuration that names the task's service or gateway.
///
/// Every optional field may be `null`: consul-ecs treats `null` as absent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EcsConfig {
    service: Option<Service>,
    gateway: Option<Gateway>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Service {
    name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Gateway {
    kind: GatewayKind,
    name: Option<String>,
}

impl EcsConfig {
    /// The name of the service or gateway. An empty name is treated as absent.
    pub fn name(&self) -> Option<&str> {
        let gateway = self.gateway.as_ref().and_then(|gateway| gateway.name.as_deref());
        let service = self.service.as_ref().and_then(|service| service.name.as_deref());
        gateway.or(service).filter(|name| !name.is_empty())
    }

    /// The kind of gateway, if the task is a gateway.
    pub fn gateway_kind(&self) -> Option<GatewayKind> {
        self.gateway.as_ref().map(|gateway| gateway.kind)
    }
}

impl FromStr for EcsConfig {
    type Err = InvalidField;

    fn from_str(json: &str) -> Result<Self, InvalidField> {
        serde_json::from_str(json)
            .map_err(|_| InvalidField::new(CONFIG_VARIABLE, "(not shown)", "the JSON configuration of consul-ecs"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_and_gateways_are_distinguished() {
        let service: EcsConfig = r#"{"service":{"name":"web","port":80},"proxy":{}}"#.parse().unwrap();
        assert_eq!((service.name(), service.gateway_kind()), (Some("web"), None));
        let gateway: EcsConfig = r#"{"gateway":{"kind":"mesh-gateway","name":"mgw"}}"#.parse().unwrap();
        assert_eq!((gateway.name(), gateway.gateway_kind()), (Some("mgw"), Some(GatewayKind::MeshGateway)));
    }

    #[test]
    fn null_is_treated_as_absent() {
        let nulls = r#"{"service":{"name":null},"gateway":null,"healthSyncContainers":null}"#;
        let service: EcsConfig = nulls.parse().unwrap();
        assert_eq!((service.name(), service.gateway_kind()), (None, None));
        let gateway = r#"{"service":null,"gateway":{"kind":"api-gateway","name":null},"healthSyncContainers":null}"#;
        assert_eq!(gateway.parse::<EcsConfig>().unwrap().gateway_kind(), Some(GatewayKind::ApiGateway));
    }

    #[test]
    fn a_broken_configuration_names_the_variable() {
        assert_eq!("{".parse::<EcsConfig>().unwrap_err().field(), CONFIG_VARIABLE);
        assert!(r#"{"gateway":{"kind":"garden-gate"}}"#.parse::<EcsConfig>().is_err());
    }
}
