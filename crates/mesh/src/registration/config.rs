//! `CONSUL_ECS_CONFIG_JSON`, read in full: a field that is not known is an error, because its effect on the
//! registration is not known either.
//!
//! Source of the fields, of consul-ecs 0.7 to 0.10: <https://developer.hashicorp.com/consul/docs/reference/ecs> and
//! <https://developer.hashicorp.com/consul/docs/ecs/reference/configuration-reference>

use serde::{Deserialize, de::IgnoredAny};

use super::{
    gateway::GatewayFields,
    json::{given, in_config, invalid, read},
    proxy::ProxyFields,
    service::{ServiceFields, ServiceInMesh},
};
use crate::{
    admission::LoginConfig,
    ecs_config::GatewayKind,
    field::InvalidField,
    login::SERVICE_METHOD,
    program::Registrar,
    tenancy::{Tenancy, TenancyName},
};

/// A configuration of consul-ecs that was read in full.
#[derive(Debug, Clone)]
pub struct MeshConfig {
    instance: Instance,
    synced_containers: Vec<String>,
    login: Option<LoginConfig>,
}

/// What the configuration registers. A gateway takes precedence over a service.
#[derive(Debug, Clone)]
pub(super) enum Instance {
    Service(Box<ServiceInMesh>),
    Gateway(Box<GatewayFields>),
}

/// The root of the configuration. Fields with `_` have no effect on the registration.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Root {
    #[serde(rename = "bootstrapDir")]
    _bootstrap_dir: Option<IgnoredAny>,
    consul_login: Option<Login>,
    consul_servers: Option<Servers>,
    #[serde(rename = "controller")]
    _controller: Option<IgnoredAny>,
    #[serde(default, deserialize_with = "given")]
    gateway: Option<GatewayFields>,
    health_sync_containers: Option<Vec<String>>,
    #[serde(rename = "logLevel")]
    _log_level: Option<IgnoredAny>,
    proxy: Option<ProxyFields>,
    #[serde(default, deserialize_with = "given")]
    service: Option<ServiceFields>,
    #[serde(default, deserialize_with = "given")]
    transparent_proxy: Option<Nullable<TransparentProxy>>,
}

/// How the task gets its token. Its other fields decide nothing here.
#[derive(Deserialize)]
struct Login {
    enabled: Option<bool>,
    method: Option<String>,
    datacenter: Option<String>,
}

/// Where the task finds Consul. Its other fields decide nothing here.
#[derive(Deserialize)]
struct Servers {
    hosts: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TransparentProxy {
    enabled: Option<bool>,
    #[serde(rename = "excludeInboundPorts")]
    _exclude_inbound_ports: Option<IgnoredAny>,
    #[serde(rename = "excludeOutboundPorts")]
    _exclude_outbound_ports: Option<IgnoredAny>,
    #[serde(rename = "excludeOutboundCIDRs")]
    _exclude_outbound_cidrs: Option<IgnoredAny>,
    #[serde(rename = "excludeUIDs")]
    _exclude_uids: Option<IgnoredAny>,
    #[serde(rename = "consulDNS")]
    _consul_dns: Option<IgnoredAny>,
}

/// A field that may be null, and of which it matters whether it is there.
#[derive(Deserialize)]
struct Nullable<T>(Option<T>);

impl MeshConfig {
    /// Reads the value of `CONSUL_ECS_CONFIG_JSON` of a task that `registrar` registers.
    ///
    /// # Errors
    /// A field is not known or has an invalid value; `registrar` refuses the configuration; or a service has no
    /// `proxy`, without which consul-ecs panics before it registers. The error names the field's path and never shows
    /// its value, because a configuration may contain secrets.
    pub fn parse(json: &str, registrar: Registrar) -> Result<Self, InvalidField> {
        let root: Root = read(json)?;
        root.check(registrar)?;
        // Transparent proxy is on by default: <https://developer.hashicorp.com/consul/docs/reference/ecs>
        let transparent_proxy = root.transparent_proxy.and_then(|nullable| nullable.0);
        let is_transparent = registrar == Registrar::MeshInit
            && transparent_proxy.and_then(|transparent_proxy| transparent_proxy.enabled).unwrap_or(true);
        let instance = match (root.gateway, root.proxy) {
            (Some(gateway), _) => Instance::Gateway(Box::new(gateway)),
            (None, Some(proxy)) => {
                let service = root.service.unwrap_or_default();
                Instance::Service(Box::new(ServiceInMesh { service, proxy, is_transparent }))
            }
            (None, None) => return Err(invalid("proxy", "an object, without which consul-ecs registers no service")),
        };
        Ok(Self {
            instance,
            synced_containers: root.health_sync_containers.unwrap_or_default(),
            login: root.consul_login.filter(|login| login.enabled == Some(true)).map(|login| LoginConfig {
                method: given_text(login.method).unwrap_or_else(|| SERVICE_METHOD.to_owned()),
                datacenter: given_text(login.datacenter),
                hosts: root.consul_servers.and_then(|servers| servers.hosts),
            }),
        })
    }

    /// `healthSyncContainers`: the containers whose health status in ECS is synced into Consul.
    pub fn synced_containers(&self) -> &[String] {
        &self.synced_containers
    }

    /// How the task logs in for its token; `None` if it does not (`consulLogin.enabled`).
    pub fn login(&self) -> Option<&LoginConfig> {
        self.login.as_ref()
    }

    /// Whether the task is a gateway.
    pub fn is_gateway(&self) -> bool {
        matches!(self.instance, Instance::Gateway(_))
    }

    /// The tenancy that the configuration names. Consul Enterprise, and every configuration with one of the two names,
    /// has `default` for a name that is absent: <https://developer.hashicorp.com/consul/docs/ecs/enterprise>
    ///
    /// # Errors
    /// A name is invalid.
    pub fn tenancy(&self, is_enterprise: bool) -> Result<Tenancy, InvalidField> {
        let (object, partition, namespace) = match &self.instance {
            Instance::Service(with) => ("service", &with.service.partition, &with.service.namespace),
            Instance::Gateway(gateway) => ("gateway", &gateway.partition, &gateway.namespace),
        };
        let [partition, namespace] = [partition, namespace].map(|name| name.as_deref().filter(|name| !name.is_empty()));
        if partition.is_none() && namespace.is_none() && !is_enterprise {
            return Ok(Tenancy::Community);
        }
        let parse = |name: Option<&str>, field: &str| {
            let name = name.unwrap_or("default").parse::<TenancyName>();
            name.map_err(|e| e.in_field(in_config(&format!("{object}.{field}"))))
        };
        Ok(Tenancy::Enterprise { partition: parse(partition, "partition")?, namespace: parse(namespace, "namespace")? })
    }

    pub(super) fn instance(&self) -> &Instance {
        &self.instance
    }
}

/// A text that is not empty: consul-ecs treats an empty one as absent.
fn given_text(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

impl Root {
    /// What consul-ecs refuses although the fields are known to other releases.
    fn check(&self, registrar: Registrar) -> Result<(), InvalidField> {
        if self.service.as_ref().is_some_and(ServiceFields::has_checks) {
            return Err(invalid("service.checks", "no checks, which only consul-ecs up to 0.6 registers"));
        }
        if registrar == Registrar::MeshInit {
            return Ok(());
        }
        if self.transparent_proxy.is_some() {
            return Err(invalid("transparentProxy", "no such field, which consul-ecs 0.7 does not know"));
        }
        if self.service.as_ref().is_some_and(ServiceFields::has_network_resilience) {
            let expected = "no such field, which consul-ecs 0.7 does not know";
            return Err(invalid("service.networkResilienceConfig", expected));
        }
        match &self.gateway {
            Some(gateway) if gateway.kind != GatewayKind::MeshGateway => {
                Err(invalid("gateway.kind", "mesh-gateway, the only kind that consul-ecs 0.7 knows"))
            }
            _ => Ok(()),
        }
    }
}
