//! Discovery of servers by URL, through DNS.

use std::net::IpAddr;

use async_trait::async_trait;
use reqwest::Url;

use crate::{
    address::ConsulUrls,
    servers::{NoServers, Server, ServerSource},
};

#[async_trait]
impl ServerSource for ConsulUrls {
    /// Every address of every host. Each is tried separately, because one name may have several servers, some of which
    /// are down.
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
    let nothing = |why: &str| {
        NoServers::NotUp(format!(
            "no address for the name {host:?} ({why}); correct its DNS record, or CONSUL_HTTP_ADDR"
        ))
    };
    let found = tokio::net::lookup_host((host, 0)).await.map_err(|e| nothing(&e.to_string()))?;
    let addresses: Vec<IpAddr> = found.map(|socket| socket.ip()).collect();
    if addresses.is_empty() { Err(nothing("an empty answer")) } else { Ok(addresses) }
}
