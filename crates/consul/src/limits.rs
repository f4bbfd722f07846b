//! What the config entry `service-defaults` of a service limits:
//! <https://developer.hashicorp.com/consul/docs/reference/config-entry/service-defaults>

use mesh::{identity::MeshService, tenancy::Tenancy};
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
    pub passive_health_check: Option<OutlierDetection>,
}

/// The settings of outlier detection by the names of Consul. Durations are in nanoseconds.
pub type OutlierDetection = Fields;

impl ServiceLimits {
    /// The limits of its calls to a service. What is not set for it by name, the defaults for every service set, as Consul merges them.
    pub fn of_calls_to(&self, service: &str) -> CallLimits {
        let UpstreamLimits { defaults, overrides } = &self.upstream_config;
        let named = overrides.iter().find(|limits| limits.name == service).unwrap_or(defaults);
        let is_set = |fields: &&Fields| !fields.is_empty();
        CallLimits {
            name: service.to_owned(),
            limits: [&named.limits, &defaults.limits].into_iter().find(is_set).cloned().unwrap_or_default(),
            passive_health_check: [named, defaults]
                .into_iter()
                .filter_map(|it| it.passive_health_check.as_ref())
                .find(is_set)
                .cloned(),
        }
    }
}

impl HttpConsul {
    /// The outlier detection that a service demands of all its callers; `None` if Consul certainly has no such entry, or none with
    /// outlier detection. It takes `service:read`.
    pub async fn outlier_detection(&self, service: &MeshService) -> Result<Option<OutlierDetection>, ConsulError> {
        let entry = self.service_limits(service.name.as_str(), &service.tenancy).await?;
        Ok(entry.and_then(|entry| entry.upstream_config.defaults.passive_health_check))
    }

    /// The limits of a service; `None` if it has no such entry. It takes `service:read`.
    pub async fn service_limits(&self, service: &str, tenancy: &Tenancy) -> Result<Option<ServiceLimits>, ConsulError> {
        let subject = format!("the config entry service-defaults of {service}");
        self.entry(&Request::get(subject, &["config", "service-defaults", service]).within(tenancy)).await
    }
}
