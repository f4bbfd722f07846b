//! `CONSUL_ECS_CONFIG_JSON` as the controller reads it: in part for the identity of a task, and in full for its registration.

use std::{collections::BTreeMap, fmt, net::Ipv4Addr};

use ipnet::Ipv4Net;
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};

use super::{
    SERVICE_METHOD,
    fields::{Gateway, GatewayKind, ROOT, Root, Service, ServiceProxy},
    release::{Feature, Registrar},
    schema::{ConfigCheck, ConfigFault},
};
use crate::{
    admission::LoginConfig,
    names::InvalidField,
    tenancy::{Tenancy, TenancyName},
};

/// The environment variable with the configuration, on `consul-ecs-mesh-init` or `consul-ecs-control-plane`.
pub const CONFIG_VARIABLE: &str = "CONSUL_ECS_CONFIG_JSON";
/// The environment variable with the region, which Fargate sets in each container. `mesh-init` registers a locality only
/// where it is set.
pub const REGION_VARIABLE: &str = "AWS_REGION";

/// How much of a field's path an error contains, in characters.
const SHOWN_CHARS: usize = 120;
const NOT_SHOWN: &str = "(not shown)";

/// The part of the configuration that names the task's service or gateway. The rest may be invalid.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EcsConfig {
    service: Option<NamedService>,
    gateway: Option<NamedGateway>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct NamedService {
    name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct NamedGateway {
    kind: GatewayKind,
    name: Option<String>,
}

/// The part of the configuration with the login. The rest may be invalid.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoginOnly {
    consul_login: Option<NamedLogin>,
}

/// A login, and the auth method that it names.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NamedLogin {
    enabled: Option<bool>,
    method: Option<String>,
}

impl NamedLogin {
    /// The auth method, if the configuration names one.
    pub fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }
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

/// What `CONSUL_ECS_CONFIG_JSON` in a task definition says of the identity of its tasks, parsed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    named: Result<EcsConfig, InvalidField>,
    login: Result<Option<NamedLogin>, InvalidField>,
}

impl Configuration {
    /// The size of the names in bytes.
    pub fn approximate_size(&self) -> usize {
        let config = self.named.as_ref().ok();
        let names = [
            config.and_then(|it| it.service.as_ref()?.name.as_ref()),
            config.and_then(|it| it.gateway.as_ref()?.name.as_ref()),
            self.login.as_ref().ok().and_then(|login| login.as_ref()?.method.as_ref()),
        ];
        names.into_iter().flatten().map(String::len).sum()
    }

    /// The part that names the task's service or gateway.
    ///
    /// # Errors
    /// It is not JSON, or has a field of another type.
    pub fn named(&self) -> Result<&EcsConfig, &InvalidField> {
        self.named.as_ref()
    }

    /// How the task logs in for its token; `None` if it does not.
    ///
    /// # Errors
    /// It is not JSON, or its login has a field of another type. This takes no name from the task.
    pub fn login(&self) -> Result<Option<&NamedLogin>, &InvalidField> {
        Ok(self.login.as_ref()?.as_ref().filter(|login| login.enabled == Some(true)))
    }
}

impl From<&str> for Configuration {
    fn from(text: &str) -> Self {
        let invalid = |_| InvalidField::new(CONFIG_VARIABLE, NOT_SHOWN, "the JSON configuration of consul-ecs");
        let named = serde_json::from_str(text).map_err(invalid);
        let login = serde_json::from_str(text).map(|LoginOnly { consul_login }| consul_login).map_err(invalid);
        Self { named, login }
    }
}

/// A configuration that was read in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshConfig {
    pub(super) instance: Instance,
    synced_containers: Vec<String>,
    login: Option<LoginConfig>,
    server_hosts: Option<String>,
    unregistered: Unregistered,
    size: usize,
}

/// Settings that `mesh-init` does not register with the task: it writes them to a config entry, or into the task's firewall. What
/// has another type counts as absent, because no registration depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Unregistered {
    outlier_detection: Option<BTreeMap<String, i64>>,
    excluded_cidrs: Vec<Ipv4Net>,
    excluded_ports: Vec<i64>,
}

impl Unregistered {
    fn of(json: &serde_json::Value) -> Self {
        use serde_json::Value;
        let resilience = json.pointer("/service/networkResilienceConfig");
        let enabled = resilience.filter(|it| it.get("enabled") == Some(&Value::Bool(true)));
        let settings = enabled.and_then(|it| it.get("outlierDetection")?.as_object());
        let number = |(name, value): (&String, &Value)| Some((name.clone(), value.as_i64()?));
        let list = |field: &str| {
            let list = json.get("transparentProxy").and_then(|it| it.get(field)?.as_array());
            list.map(Vec::as_slice).unwrap_or_default()
        };
        Self {
            outlier_detection: settings.map(|settings| settings.iter().filter_map(number).collect()),
            excluded_cidrs: list("excludeOutboundCIDRs").iter().filter_map(Value::as_str).filter_map(block).collect(),
            excluded_ports: list("excludeOutboundPorts").iter().filter_map(Value::as_i64).collect(),
        }
    }
}

/// What the configuration registers. A gateway takes precedence over a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Instance {
    Service(Box<ServiceInMesh>),
    Gateway(Box<Gateway>),
}

/// A service, its sidecar proxy, and whether traffic is redirected to the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServiceInMesh {
    pub(super) service: Service,
    pub(super) proxy: ServiceProxy,
    pub(super) is_transparent: bool,
}

impl MeshConfig {
    /// Reads the configuration of a task that `registrar` registers. A field that is not known is an error, because its
    /// effect on the registration is not known either.
    ///
    /// # Errors
    /// A field is not known to `registrar` or has an invalid value, or a service has no `proxy`, without which consul-ecs
    /// panics before it registers. The error names the field's path and never shows its value, because a configuration may
    /// contain secrets.
    pub fn parse(json: &str, registrar: Registrar) -> Result<Self, InvalidField> {
        let (root, unregistered, size) = read(json, registrar)?;
        // Transparent proxy is on by default: <https://developer.hashicorp.com/consul/docs/reference/ecs>
        let is_transparent = Feature::TransparentProxy.is_in(registrar.generation().releases().since)
            && root.transparent_proxy.and_then(|transparent_proxy| transparent_proxy.enabled).unwrap_or(true);
        let instance = match (root.gateway, root.proxy) {
            (Some(gateway), _) => Instance::Gateway(Box::new(gateway)),
            (None, Some(proxy)) => {
                let service = root.service.unwrap_or_default();
                Instance::Service(Box::new(ServiceInMesh { service, proxy, is_transparent }))
            }
            (None, None) => return Err(invalid("proxy", "an object, without which consul-ecs registers no service")),
        };
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let server_hosts = root.consul_servers.and_then(|servers| servers.hosts);
        Ok(Self {
            size,
            unregistered,
            instance,
            synced_containers: root.health_sync_containers.unwrap_or_default(),
            login: root.consul_login.filter(|login| login.enabled == Some(true)).map(|login| LoginConfig {
                method: given(login.method).unwrap_or_else(|| SERVICE_METHOD.to_owned()),
                datacenter: given(login.datacenter),
                hosts: server_hosts.clone(),
            }),
            server_hosts,
        })
    }

    /// About how much memory it takes, in bytes.
    pub fn approximate_size(&self) -> usize {
        self.size
    }

    /// `healthSyncContainers`: the containers whose health status in ECS is synced into Consul.
    pub fn synced_containers(&self) -> &[String] {
        &self.synced_containers
    }

    /// How the task logs in for its token; `None` if it does not (`consulLogin.enabled`).
    pub fn login(&self) -> Option<&LoginConfig> {
        self.login.as_ref()
    }

    /// `consulServers.hosts`: a host or an address, or a program that prints them.
    pub fn server_hosts(&self) -> Option<&str> {
        self.server_hosts.as_deref()
    }

    /// The value of a key in the metadata that the configuration gives to its service or gateway; `None` if it is empty.
    pub fn meta(&self, key: &str) -> Option<&str> {
        let meta = match &self.instance {
            Instance::Service(with) => &with.service.meta,
            Instance::Gateway(gateway) => &gateway.meta,
        };
        meta.as_ref()?.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The outlier detection that `mesh-init` of 0.9.4 and newer writes to the `service-defaults` of the service, unless Consul has one
    /// already, by the names of the configuration; `None` if it is not enabled.
    pub fn outlier_detection(&self) -> Option<&BTreeMap<String, i64>> {
        self.unregistered.outlier_detection.as_ref().filter(|_| !self.is_gateway())
    }

    /// Whether connections of the app to this address and port go through the proxy: with transparent proxy, all that the
    /// configuration does not exclude
    /// (<https://github.com/hashicorp/consul-ecs/blob/v0.10.0/internal/redirecttraffic/redirect_traffic.go>). Those of users in
    /// `excludeUIDs` do not, but a configuration does not say whose user that is.
    pub fn redirects(&self, address: Ipv4Addr, port: u16) -> bool {
        let is_transparent = matches!(&self.instance, Instance::Service(with) if with.is_transparent);
        is_transparent
            && !self.unregistered.excluded_ports.contains(&i64::from(port))
            && !self.unregistered.excluded_cidrs.iter().any(|block| block.contains(&address))
    }

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
}

/// The most memory that a configuration may take, in bytes, so that no definition takes the memory of the others: a list of
/// lists takes more than a hundred times its text. A configuration with 100 upstreams takes about 100 KiB.
const MAX_SIZE: usize = 256 * 1024;

/// About how much memory the content of a JSON value takes on the heap, in bytes. Lists and maps grow in powers of two, and a
/// map also has an index.
fn approximate_size(json: &serde_json::Value) -> usize {
    use serde_json::Value;
    const ALLOCATION: usize = 16;
    const ENTRY: usize = size_of::<(u64, String, Value)>();
    let room = |len: usize, item: usize| if len == 0 { 0 } else { ALLOCATION + len.next_power_of_two().max(4) * item };
    match json {
        Value::String(text) => ALLOCATION + text.len(),
        Value::Array(items) => {
            room(items.len(), size_of::<Value>()) + items.iter().map(approximate_size).sum::<usize>()
        }
        Value::Object(entries) => {
            let content = entries.iter().map(|(key, value)| ALLOCATION + key.len() + approximate_size(value));
            room(entries.len(), ENTRY + ALLOCATION) + content.sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// A block of addresses, `169.254.0.0/16`, or a single one.
fn block(text: &str) -> Option<Ipv4Net> {
    text.parse().or_else(|_| text.parse::<Ipv4Addr>().map(Ipv4Net::from)).ok()
}

/// A configuration, what is not registered of it, and about how much memory it takes.
fn read(json: &str, registrar: Registrar) -> Result<(Root, Unregistered, usize), InvalidField> {
    let not_json = |_| InvalidField::new(CONFIG_VARIABLE, NOT_SHOWN, "one JSON object, with each key once");
    let EachKeyOnce(json) = serde_json::from_str(json).map_err(not_json)?;
    let releases = registrar.generation().releases();
    let problems = ConfigCheck::run(&json, &ROOT, Some(releases), releases.since);
    // Whether consul-ecs accepts a value such as an empty name is its decision; the types of the fields are checked below.
    let is_a_value = |fault: &ConfigFault| matches!(fault, ConfigFault::WrongValue(_));
    if let Some(problem) = problems.iter().find(|it| it.changes_registration && !is_a_value(&it.fault)) {
        let expected = match problem.fault {
            ConfigFault::OtherRelease { .. } => "only fields and values that the task's release of consul-ecs knows",
            _ => "a known field with a valid value, as in the reference of consul-ecs",
        };
        return Err(invalid(&problem.path, expected));
    }
    let size = approximate_size(&json);
    if size > MAX_SIZE {
        return Err(InvalidField::new(CONFIG_VARIABLE, NOT_SHOWN, "a configuration of at most 256 KiB of memory"));
    }
    let unregistered = Unregistered::of(&json);
    let root = serde_path_to_error::deserialize(json)
        .map_err(|error| invalid(&error.path().to_string(), "a valid value, as in the reference of consul-ecs"))?;
    Ok((root, unregistered, size))
}

/// JSON whose objects have each key once. consul-ecs would merge the values of a repeated key, and `serde_json` keeps the last.
struct EachKeyOnce(serde_json::Value);

impl<'de> Deserialize<'de> for EachKeyOnce {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EachKeyOnceVisitor).map(Self)
    }
}

struct EachKeyOnceVisitor;

impl<'de> Visitor<'de> for EachKeyOnceVisitor {
    type Value = serde_json::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut map = serde_json::Map::new();
        while let Some((key, EachKeyOnce(value))) = entries.next_entry::<String, EachKeyOnce>()? {
            if map.insert(key, value).is_some() {
                return Err(A::Error::custom("repeated key"));
            }
        }
        Ok(map.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(EachKeyOnce(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(serde_json::Value::Null)
    }
}

/// A field's path as errors name it.
pub(super) fn in_config(path: &str) -> String {
    format!("{CONFIG_VARIABLE}: {path}")
}

fn invalid(path: &str, expected: &'static str) -> InvalidField {
    // A key can contain anything.
    let path: String = path.chars().take(SHOWN_CHARS).collect();
    InvalidField::new(in_config(&path.escape_debug().to_string()), NOT_SHOWN, expected)
}
