//! Which servers there are now: given by address and looked up by name, or by whoever knows better.

use std::net::IpAddr;

use async_trait::async_trait;
use reqwest::Url;

use super::address::ConsulUrls;

/// One server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its URL. The host is what its certificate is verified against, unless another name is configured.
    pub url: Url,
    /// Where connections go, at the URL's port.
    pub address: IpAddr,
}

/// Why there is no server to ask. The text says what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum NoServers {
    /// None is up. One may come up, so this is waited for.
    #[error("{0}")]
    NotUp(String),
    /// It could not be found out.
    #[error("{0}")]
    Unknown(String),
}

/// Where the addresses of the servers come from. It is asked at the first request, and again after no server took a
/// connection.
#[async_trait]
pub trait ServerSource: Send + Sync {
    /// The servers that there are now, in the order in which they are to be tried: at least one.
    ///
    /// # Errors
    /// There is none, or it cannot be found out.
    async fn servers(&self) -> Result<Vec<Server>, NoServers>;
}

#[async_trait]
impl ServerSource for ConsulUrls {
    /// Every address of every host. Each is tried by itself, because one name may stand for several servers, of which
    /// some are down.
    async fn servers(&self) -> Result<Vec<Server>, NoServers> {
        let (mut servers, mut reasons) = (Vec::new(), Vec::new());
        for url in self.urls() {
            let server = |address| Server { url: url.clone(), address };
            match look_up(url).await {
                Ok(addresses) => servers.extend(addresses.into_iter().map(server)),
                // The others may do without this one.
                Err(reason) => reasons.push(reason),
            }
        }
        if servers.is_empty() { Err(NoServers::NotUp(reasons.join("; "))) } else { Ok(servers) }
    }
}

/// The addresses of a URL's host; of one that is an address, that one, without asking anybody.
async fn look_up(url: &Url) -> Result<Vec<IpAddr>, String> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    if let Ok(address) = host.parse() {
        return Ok(vec![address]);
    }
    let nothing =
        |why: &str| format!("no address for the name {host:?} ({why}); mend its DNS record, or CONSUL_HTTP_ADDR");
    let found = tokio::net::lookup_host((host, 0)).await.map_err(|e| nothing(&e.to_string()))?;
    let addresses: Vec<IpAddr> = found.map(|socket| socket.ip()).collect();
    if addresses.is_empty() { Err(nothing("an empty answer")) } else { Ok(addresses) }
}
