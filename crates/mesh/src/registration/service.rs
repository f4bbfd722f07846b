//! A service and its sidecar proxy.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};

use super::{
    checks,
    instance::{InstanceKind, Registration, ServiceAddress, TaskPlace, Weights},
    json::given,
    proxy::{Proxy, ProxyFields},
};
use crate::{field::InvalidField, tenancy::Tenancy};

/// What a sidecar proxy's ID and name add to those of its service.
const SIDECAR_SUFFIX: &str = "-sidecar-proxy";
/// The tagged address by which transparent proxies recognise what an application sends to the service.
const VIRTUAL: &str = "virtual";

/// A service, its sidecar proxy, and whether traffic is redirected to the proxy.
#[derive(Debug, Clone)]
pub(super) struct ServiceInMesh {
    pub(super) service: ServiceFields,
    pub(super) proxy: ProxyFields,
    pub(super) is_transparent: bool,
}

/// `service` in the configuration of consul-ecs. consul-ecs reads one that is absent as one without a name and a port.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ServiceFields {
    name: Option<String>,
    port: u16,
    tags: Option<Vec<String>>,
    meta: Option<BTreeMap<String, String>>,
    weights: Option<Weights>,
    enable_tag_override: Option<bool>,
    pub(super) namespace: Option<String>,
    pub(super) partition: Option<String>,
    checks: Option<Vec<IgnoredAny>>,
    /// The passive health checks of a service's upstreams, which `mesh-init` writes as a configuration entry.
    #[serde(default, deserialize_with = "given")]
    network_resilience_config: Option<IgnoredAny>,
}

impl ServiceFields {
    /// Whether it has checks that a client agent would run.
    pub(super) fn has_checks(&self) -> bool {
        self.checks.as_ref().is_some_and(|checks| !checks.is_empty())
    }

    /// Whether `networkResilienceConfig` is there, if only as null.
    pub(super) fn has_network_resilience(&self) -> bool {
        self.network_resilience_config.is_some()
    }
}

impl ServiceInMesh {
    /// The service and its sidecar proxy.
    pub(super) fn registrations(
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
        service.checks = checks::of_service(&service, synced);
        Ok(vec![service, sidecar])
    }

    /// The sidecar proxy has the tags, metadata, weights and addresses of its service.
    fn sidecar(&self, service: &Registration) -> Registration {
        let proxy = self.proxy.sidecar(&service.id, &service.name, service.port);
        let mut sidecar = Registration {
            id: format!("{}{SIDECAR_SUFFIX}", service.id),
            name: format!("{}{SIDECAR_SUFFIX}", service.name),
            kind: InstanceKind::ConnectProxy,
            port: self.proxy.port(),
            proxy: Some(Proxy { is_transparent: self.is_transparent, ..proxy }),
            ..service.clone()
        };
        sidecar.checks = vec![checks::of_dataplane(&sidecar)];
        sidecar
    }
}
