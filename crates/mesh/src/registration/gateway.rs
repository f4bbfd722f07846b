//! A gateway.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};

use super::{
    checks,
    instance::{InstanceKind, Registration, ServiceAddress, TaskPlace},
    proxy::{OpaqueConfig, Proxy},
};
use crate::{ecs_config::GatewayKind, field::InvalidField, tenancy::Tenancy};

/// The port of a gateway, or of one of its addresses, without a configured port.
const GATEWAY_PORT: u16 = 8443;

/// `gateway` in the configuration of consul-ecs.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct GatewayFields {
    pub(super) kind: GatewayKind,
    name: Option<String>,
    lan_address: Option<AddressFields>,
    wan_address: Option<AddressFields>,
    tags: Option<Vec<String>>,
    meta: Option<BTreeMap<String, String>>,
    pub(super) namespace: Option<String>,
    pub(super) partition: Option<String>,
    /// The port of a health check of the dataplane, which is not registered.
    #[serde(rename = "healthCheckPort")]
    _health_check_port: Option<IgnoredAny>,
    proxy: Option<GatewayProxyFields>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct AddressFields {
    address: Option<String>,
    port: Option<u16>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct GatewayProxyFields {
    config: Option<OpaqueConfig>,
}

impl GatewayFields {
    /// The gateway. Its containers are not synced, but for the dataplane.
    pub(super) fn registration(&self, place: &TaskPlace, tenancy: &Tenancy) -> Result<Registration, InvalidField> {
        let name = place.name(self.name.as_deref(), "gateway.name")?;
        let config = |proxy: &GatewayProxyFields| proxy.config.clone().unwrap_or_default();
        // mesh-init reads the addresses of mesh gateways only.
        let is_mesh_gateway = self.kind == GatewayKind::MeshGateway;
        let [lan, wan] = [&self.lan_address, &self.wan_address].map(|it| it.as_ref().filter(|_| is_mesh_gateway));
        let mut gateway = Registration {
            kind: InstanceKind::Gateway(self.kind),
            port: lan.map_or(GATEWAY_PORT, AddressFields::port),
            tags: self.tags.clone().unwrap_or_default(),
            meta: place.meta(self.meta.as_ref()),
            proxy: self.proxy.as_ref().map(|proxy| Proxy { config: config(proxy), ..Proxy::default() }),
            ..Registration::new(&name, place, tenancy)
        };
        if let Some(lan) = lan.and_then(AddressFields::tagged) {
            gateway.service_address.clone_from(&lan.address);
            gateway.tagged_addresses.insert("lan", lan);
        }
        if let Some(wan) = wan.and_then(AddressFields::tagged) {
            gateway.tagged_addresses.insert("wan", wan);
        }
        gateway.checks = vec![checks::of_dataplane(&gateway)];
        Ok(gateway)
    }
}

impl AddressFields {
    fn port(&self) -> u16 {
        self.port.filter(|port| *port != 0).unwrap_or(GATEWAY_PORT)
    }

    /// The tagged address; `None` if only a port is configured.
    fn tagged(&self) -> Option<ServiceAddress> {
        let address = self.address.clone().filter(|address| !address.is_empty())?;
        Some(ServiceAddress { address, port: self.port() })
    }
}
