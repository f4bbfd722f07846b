//! What consul-ecs registers in Consul's catalog for one task: the service and its sidecar proxy, or the gateway.
//!
//! `mesh-init` (consul-ecs 0.8 and newer) and `control-plane` (0.7) register when a task starts, and never again. Their
//! registrations depend only on the configuration of the task and on what the task metadata endpoint says about it, so
//! that they can be computed again.
//!
//! Source: requests of 0.7.3, 0.8.1, 0.9.0 and 0.10.0, recorded in `tests/recordings/consul-ecs`, and
//! <https://developer.hashicorp.com/consul/docs/ecs/reference/configuration-reference>

mod checks;
mod config;
mod gateway;
mod instance;
mod json;
mod proxy;
mod service;
#[cfg(test)]
mod tests;

use self::config::Instance;
pub use self::{
    config::MeshConfig,
    instance::{InstanceKind, Locality, Registration, ServiceAddress, TASK_ID_META, TaskPlace, Weights},
    proxy::{
        DestinationType, Expose, ExposedPath, MeshGateway, MeshGatewayMode, OpaqueConfig, Proxy, ProxyDestination,
        Upstream,
    },
};
use crate::{field::InvalidField, tenancy::Tenancy};

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
    match config.instance() {
        Instance::Service(service) => service.registrations(config.synced_containers(), place, tenancy),
        Instance::Gateway(gateway) => Ok(vec![gateway.registration(place, tenancy)?]),
    }
}
