//! What the config entries `service-defaults` of a service and `proxy-defaults` of all services limit:
//! <https://developer.hashicorp.com/consul/docs/reference/config-entry/service-defaults>,
//! <https://developer.hashicorp.com/consul/docs/reference/config-entry/proxy-defaults>

use mesh::{identity::MeshService, tenancy::Tenancy};
use serde::Deserialize;

use crate::{
    bootstrap::Fields,
    discovery_chain::GatewayMode,
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
    /// The protocol of the service, if the entry says so.
    pub protocol: Option<String>,
    /// After how many milliseconds its proxies end a request; 0 for Envoy's default.
    #[serde(deserialize_with = "or_default")]
    pub local_request_timeout_ms: i64,
    /// What its proxies do that Consul does not configure.
    #[serde(deserialize_with = "or_default")]
    pub envoy_extensions: Vec<EnvoyExtension>,
    #[serde(deserialize_with = "or_default")]
    rate_limits: RateLimits,
    #[serde(deserialize_with = "or_default")]
    upstream_config: UpstreamLimits,
}

/// An extension of Envoy: <https://developer.hashicorp.com/consul/docs/envoy-extension>
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct EnvoyExtension {
    pub name: String,
}

/// Limits of the requests that each proxy of a service takes (Enterprise).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct RateLimits {
    #[serde(deserialize_with = "or_default")]
    instance_level: InstanceLevel,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct InstanceLevel {
    #[serde(deserialize_with = "or_default")]
    requests_per_second: u64,
    #[serde(deserialize_with = "or_default")]
    routes: Vec<Fields>,
}

/// The settings of the proxies of all services.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ProxyDefaults {
    #[serde(deserialize_with = "or_default")]
    config: Fields,
    #[serde(deserialize_with = "or_default")]
    mesh_gateway: GatewayMode,
    #[serde(deserialize_with = "or_default")]
    pub envoy_extensions: Vec<EnvoyExtension>,
}

impl ProxyDefaults {
    /// The mode of mesh gateways; empty without one.
    pub fn gateway_mode(&self) -> &str {
        &self.mesh_gateway.mode
    }

    /// The protocol of services without one of their own.
    pub fn protocol(&self) -> Option<&str> {
        self.config.get("protocol")?.as_str()
    }

    /// After how many milliseconds the proxies of services without a time of their own end a request.
    pub fn local_request_timeout_ms(&self) -> Option<i64> {
        self.config.get("local_request_timeout_ms")?.as_i64()
    }
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
    /// The requests that each of its proxies takes a second, and the number of routes with a limit of their own.
    pub fn rate_limits(&self) -> (u64, usize) {
        let InstanceLevel { requests_per_second, routes } = &self.rate_limits.instance_level;
        (*requests_per_second, routes.len())
    }

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

    /// The settings of all proxies of the tenancy's partition, which any token may read; `None` if Consul has no such entry.
    pub async fn proxy_defaults(&self, tenancy: &Tenancy) -> Result<Option<ProxyDefaults>, ConsulError> {
        let path = ["config", "proxy-defaults", "global"];
        self.entry(&Request::get("the config entry proxy-defaults", &path).in_partition_of(tenancy)).await
    }

    /// The limits of a service; `None` if it has no such entry. It takes `service:read`.
    pub async fn service_limits(&self, service: &str, tenancy: &Tenancy) -> Result<Option<ServiceLimits>, ConsulError> {
        let subject = format!("the config entry service-defaults of {service}");
        self.entry(&Request::get(subject, &["config", "service-defaults", service]).within(tenancy)).await
    }
}
