//! The servers of a datacenter: their addresses in `CONSUL_HTTP_ADDR`, which name URLs or the ECS tasks that the servers run in, and
//! their discovery, here through DNS.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    num::NonZeroU16,
    str::FromStr,
};

use async_trait::async_trait;
use mesh::{hcp, names::InvalidField};
use reqwest::Url;

/// The field's name in errors, before the variable's name replaces it.
const FIELD: &str = "Consul address";

/// One server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its URL. Its certificate is verified for the host, unless another name is configured.
    pub url: Url,
    /// The IP address of connections, at the URL's port.
    pub address: IpAddr,
}

/// Why no server is known. The text says what to do.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NoServers {
    /// None is up. The client waits for one to come up.
    #[error("{0}")]
    NotUp(String),
    /// Discovery failed.
    #[error("{0}")]
    Unknown(String),
}

/// The source of the servers' addresses, called at the first request, and again after no server accepted a connection.
#[async_trait]
pub trait ServerSource: Send + Sync {
    /// The current servers, in the order in which they are tried: at least one.
    ///
    /// # Errors
    /// There is none, or discovery failed.
    async fn servers(&self) -> Result<Vec<Server>, NoServers>;
}

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
    /// The name of the cluster.
    pub cluster: String,
    /// The family of the servers' task definition, or the name of their service.
    pub family_or_service: String,
    port: NonZeroU16,
    scheme: &'static str,
}

impl EcsServers {
    const PREFIX: &'static str = "ecs://";
    const EXPECTED: &'static str = "ecs://cluster/family-or-service:port?scheme=https: alone, and both names of 1 to 255 \
         letters, digits, '-' and '_'";

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
            family_or_service: name.to_owned(),
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
        write!(f, "family or service {:?} in cluster {:?}", self.family_or_service, self.cluster)
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

#[async_trait]
impl ServerSource for ConsulUrls {
    /// Every address of every host. Each is tried separately, because one name may have several servers, and some may
    /// be down.
    async fn servers(&self) -> Result<Vec<Server>, NoServers> {
        let (mut servers, mut reasons) = (Vec::new(), Vec::new());
        for url in self.urls() {
            let server = |address| Server { url: url.clone(), address };
            match look_up(url).await {
                Ok(addresses) => servers.extend(addresses.into_iter().map(server)),
                // The other hosts may suffice.
                Err(why) => reasons.push(why.to_string()),
            }
        }
        if servers.is_empty() { Err(NoServers::NotUp(reasons.join("; "))) } else { Ok(servers) }
    }
}

/// The addresses of a URL's host, without DNS if the host is an address.
async fn look_up(url: &Url) -> Result<Vec<IpAddr>, NoServers> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    if let Ok(address) = host.parse() {
        return Ok(vec![address]);
    }
    let found = tokio::net::lookup_host((host, 0)).await.map_err(|e| no_address(host, &e.to_string()))?;
    let addresses: Vec<IpAddr> = found.map(|socket| socket.ip()).collect();
    if addresses.is_empty() { Err(no_address(host, "an empty answer")) } else { Ok(addresses) }
}

/// That DNS has no address for a host.
fn no_address(host: &str, why: &str) -> NoServers {
    let remedy = if hcp::names_server(host) {
        let (ended, migration) = (hcp::ENDED, hcp::MIGRATION);
        format!("it is a name of {ended}. Run servers of your own, and set CONSUL_HTTP_ADDR: {migration}")
    } else {
        "correct its DNS record, or CONSUL_HTTP_ADDR".to_owned()
    };
    NoServers::NotUp(format!("no address for the name {host:?} ({why}); {remedy}"))
}

#[cfg(test)]
mod tests;
