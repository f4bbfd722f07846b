//! What the config entry `service-defaults` of a service limits:
//! <https://developer.hashicorp.com/consul/docs/reference/config-entry/service-defaults>

use mesh::tenancy::Tenancy;
use serde::Deserialize;

use crate::{
    bootstrap::Fields,
    error::ConsulError,
    http::HttpConsul,
    request::{Request, or_default},
};

/// The limits of a service and of its calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ServiceLimits {
    /// The most connections that each of its proxies takes; 0 for any number.
    #[serde(deserialize_with = "or_default")]
    pub max_inbound_connections: u64,
    #[serde(deserialize_with = "or_default")]
    upstream_config: UpstreamLimits,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct UpstreamLimits {
    #[serde(deserialize_with = "or_default")]
    defaults: CallLimits,
    #[serde(deserialize_with = "or_default")]
    overrides: Vec<CallLimits>,
}

/// The limits of the calls to a service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CallLimits {
    name: String,
    /// The numbers by their names, for example `MaxConnections`.
    #[serde(deserialize_with = "or_default")]
    pub limits: Fields,
    /// When an instance that fails gets no more requests for a while.
    #[serde(deserialize_with = "or_default")]
    pub passive_health_check: Fields,
}

impl ServiceLimits {
    /// The limits of its calls to a service. What is not set for it by name is that for every service, as Consul merges them.
    pub fn of_calls_to(&self, service: &str) -> CallLimits {
        let UpstreamLimits { defaults, overrides } = &self.upstream_config;
        let named = overrides.iter().find(|limits| limits.name == service).unwrap_or(defaults);
        let or = |own: &Fields, other: &Fields| if own.is_empty() { other.clone() } else { own.clone() };
        CallLimits {
            name: service.to_owned(),
            limits: or(&named.limits, &defaults.limits),
            passive_health_check: or(&named.passive_health_check, &defaults.passive_health_check),
        }
    }
}

impl HttpConsul {
    /// The limits of a service; `None` if it has no such entry. It takes `service:read`.
    pub async fn service_limits(&self, service: &str, tenancy: &Tenancy) -> Result<Option<ServiceLimits>, ConsulError> {
        let subject = format!("the config entry service-defaults of {service}");
        self.entry(&Request::get(subject, &["config", "service-defaults", service]).within(tenancy)).await
    }
}
