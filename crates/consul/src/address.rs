//! `CONSUL_HTTP_ADDR`: the addresses of the Consul servers, or the ECS tasks that they run in.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    num::NonZeroU16,
    str::FromStr,
};

use reqwest::Url;

use crate::servers::{NoServers, Server};
use mesh::field::InvalidField;

/// The field's name in errors, before the variable's name replaces it.
const FIELD: &str = "Consul address";

/// The addresses of the servers of one Consul datacenter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConsulAddresses {
    /// At these URLs.
    Urls(ConsulUrls),
    /// In ECS tasks, whose addresses change with every replacement.
    Ecs(EcsServers),
}

impl ConsulAddresses {
    /// Whether every address uses TLS.
    pub fn are_all_tls(&self) -> bool {
        match self {
            Self::Urls(urls) => urls.urls().iter().all(|url| url.scheme() == "https"),
            Self::Ecs(servers) => servers.scheme == "https",
        }
    }

    /// The hosts of the URLs, in lower case; none of servers in ECS tasks.
    pub fn hosts(&self) -> impl Iterator<Item = String> {
        let urls = match self {
            Self::Urls(urls) => urls.urls(),
            Self::Ecs(_) => &[],
        };
        urls.iter().filter_map(|url| url.host_str().map(str::to_ascii_lowercase))
    }
}

impl FromStr for ConsulAddresses {
    type Err = InvalidField;

    fn from_str(text: &str) -> Result<Self, InvalidField> {
        // Also for an `ecs://` address in a list, so that the error describes that format.
        if text.contains(EcsServers::PREFIX) {
            text.parse::<EcsServers>().map(Self::Ecs)
        } else {
            text.parse::<ConsulUrls>().map(Self::Urls)
        }
    }
}

/// One or more addresses of the same Consul datacenter, tried in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsulUrls(Vec<Url>);

impl ConsulUrls {
    const EXPECTED: &'static str = "http://host:port or https://host:port, several separated by commas, \
         or ecs://cluster/family-or-service:port?scheme=https";

    /// The addresses: at least one.
    pub fn urls(&self) -> &[Url] {
        &self.0
    }

    fn parse_one(text: &str) -> Option<Url> {
        let url = Url::parse(text.trim()).ok()?;
        let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        let web = matches!(url.scheme(), "http" | "https") && url.has_host();
        (plain && web && url.fragment().is_none() && url.path() == "/").then_some(url)
    }
}

impl FromStr for ConsulUrls {
    type Err = InvalidField;

    fn from_str(text: &str) -> Result<Self, InvalidField> {
        let urls: Option<Vec<Url>> = text.split(',').map(Self::parse_one).collect();
        urls.map(Self).ok_or_else(|| InvalidField::new(FIELD, shown(text), Self::EXPECTED))
    }
}

/// Servers that run as tasks: `ecs://cluster/family-or-service:port`, with `?scheme=https` for TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EcsServers {
    cluster: String,
    name: String,
    port: NonZeroU16,
    scheme: &'static str,
}

impl EcsServers {
    const PREFIX: &'static str = "ecs://";
    const EXPECTED: &'static str = "ecs://cluster/family-or-service:port?scheme=https: alone, and both names of 1 to 255 \
         letters, digits, '-' and '_'";

    /// The name of the cluster.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// The family of the servers' task definition, or the name of their service.
    pub fn family_or_service(&self) -> &str {
        &self.name
    }

    /// The server in the task with this IP address.
    ///
    /// # Errors
    /// The URL is invalid.
    pub fn at(&self, address: IpAddr) -> Result<Server, NoServers> {
        let text = format!("{}://{}", self.scheme, SocketAddr::new(address, self.port.get()));
        let unknown = |e| NoServers::Unknown(format!("the address {address} of a task of {self}: {e}"));
        Ok(Server { url: Url::parse(&text).map_err(unknown)?, address })
    }

    fn parse(text: &str) -> Option<Self> {
        let rest = text.trim().strip_prefix(Self::PREFIX)?;
        let (place, scheme) = match rest.split_once('?') {
            None => (rest, "http"),
            Some((place, "scheme=http")) => (place, "http"),
            Some((place, "scheme=https")) => (place, "https"),
            Some(_) => return None,
        };
        let (cluster, task) = place.split_once('/')?;
        let (name, port) = task.split_once(':')?;
        // The integer parser would accept a sign.
        let port = Some(port).filter(|port| port.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()?;
        (is_name(cluster) && is_name(name)).then(|| Self {
            cluster: cluster.to_owned(),
            name: name.to_owned(),
            port,
            scheme,
        })
    }
}

impl FromStr for EcsServers {
    type Err = InvalidField;

    fn from_str(text: &str) -> Result<Self, InvalidField> {
        Self::parse(text).ok_or_else(|| InvalidField::new(FIELD, shown(text), Self::EXPECTED))
    }
}

impl fmt::Display for EcsServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "family or service {:?} in cluster {:?}", self.name, self.cluster)
    }
}

/// Whether `text` is a valid name of a cluster, family or service in ECS.
fn is_name(text: &str) -> bool {
    let is_legal = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (1..=255).contains(&text.len()) && text.bytes().all(is_legal)
}

/// Omits an address with credentials from errors.
fn shown(text: &str) -> &str {
    if text.contains('@') { "(not shown)" } else { text }
}

#[cfg(test)]
mod tests;
